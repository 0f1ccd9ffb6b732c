import sql, { raw, type Sql } from 'sql-template-tag'
import type { SigningSecret } from '../../domain/webhook/secret-rotation.ts'
import type { Reseal } from '../access/seal.ts'
import type { Query } from './database.ts'
import { ownedBy } from './page.ts'
import type { Tenant } from './transaction.ts'

/** Sealed value: its row and its text. */
type SealedValue = Tenant & { readonly id: string; readonly text: string }

/**
 * Column of sealed values. `renew` returns the value sealed with the present secret; null if it has no value of a
 * former secret.
 */
type SealedColumn = {
  readonly table: 'webhook_endpoints' | 'tariff_credentials'
  readonly name: 'secrets' | 'sealed'
  readonly type: 'jsonb' | 'text'
  readonly renew: (sealedValue: SealedValue) => string | null
}

/** Result of a page: the number of resealed rows, and the start of the next page; null after the last one. */
export type ResealedPage = { readonly rows: number; readonly next: readonly [string, boolean, string] | null }

const pageRows = 500

/** The signing secrets of webhook endpoints. */
export const webhookSecrets = (reseal: Reseal): SealedColumn => ({
  table: 'webhook_endpoints',
  name: 'secrets',
  type: 'jsonb',
  renew: ({ id, text }) => {
    const secrets = JSON.parse(text) as readonly SigningSecret<string>[]
    const renewed = secrets.map(one => reseal(one.secret, id))
    if (renewed.every(secret => secret === null)) return null
    return JSON.stringify(secrets.map((one, index) => ({ ...one, secret: renewed[index] ?? one.secret })))
  },
})

/** Credentials of persons at the apps of their providers. */
export const providerCredentials = (reseal: Reseal): SealedColumn => ({
  table: 'tariff_credentials',
  name: 'sealed',
  type: 'text',
  renew: ({ id, text }) => reseal(text, id),
})

/**
 * Seal the values of a page again if they are sealed with a former secret. A row that changed meanwhile is skipped,
 * because its new value is sealed with the present secret. Operator, for all accounts.
 */
export const resealPage = async (
  operator: Query,
  { table, name, type, renew }: SealedColumn,
  after: ResealedPage['next'],
): Promise<ResealedPage> => {
  const cursorCondition =
    after === null ? sql`true` : sql`(account_id, live_mode, id) > (${after[0]}, ${after[1]}, ${after[2]})`
  const column = raw(name)
  const { rows } = await operator<SealedValue>(sql`
    select account_id as "accountId", live_mode as "liveMode", id, ${column}::text as text from ${raw(table)}
    where ${cursorCondition} order by account_id, live_mode, id limit ${pageRows}`)
  let resealed = 0
  for (const sealedValue of rows) {
    const renewed = renew(sealedValue)
    if (renewed === null) continue
    const typed = (text: string): Sql => sql`${text}::${raw(type)}`
    const written = await operator(sql`
      update ${raw(table)} set ${column} = ${typed(renewed)}
      where ${ownedBy(sealedValue)} and id = ${sealedValue.id}
        and ${column} = ${typed(sealedValue.text)}`)
    resealed += written.rowCount
  }
  const last = rows.at(-1)
  return {
    rows: resealed,
    next: last === undefined || rows.length < pageRows ? null : [last.accountId, last.liveMode, last.id],
  }
}
