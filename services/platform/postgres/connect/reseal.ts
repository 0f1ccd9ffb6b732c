import sql, { raw, type Sql } from 'sql-template-tag'
import type { SigningSecret } from '../../../domain/webhook/secret-rotation.ts'
import type { Reseal } from '../../access/seal.ts'
import type { Query } from '../database.ts'
import type { Tenant } from '../transaction.ts'

/** Where something sealed is kept, and its text. */
type SealedValue = Tenant & { readonly id: string; readonly text: string }

/** A column that holds what is sealed: `renew` gives its text anew, null where nothing in it is sealed under a former secret. */
type SealedColumn = {
  readonly table: 'webhook_endpoints' | 'tariff_credentials'
  readonly name: 'secrets' | 'sealed'
  readonly type: 'jsonb' | 'text'
  readonly renew: (sealedValue: SealedValue) => string | null
}

/** How many rows were sealed anew, of a page; `next` is where the next page begins, null after the last one. */
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

/** What people gave the apps of their providers. */
export const providerCredentials = (reseal: Reseal): SealedColumn => ({
  table: 'tariff_credentials',
  name: 'sealed',
  type: 'text',
  renew: ({ id, text }) => reseal(text, id),
})

/**
 * Seal anew under the present secret what a page of rows holds under a former one. A row that was changed meanwhile is left: it was sealed
 * under the present one then. Operator: of all accounts.
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
      where account_id = ${sealedValue.accountId} and live_mode = ${sealedValue.liveMode} and id = ${sealedValue.id}
        and ${column} = ${typed(sealedValue.text)}`)
    resealed += written.rowCount
  }
  const last = rows.at(-1)
  return {
    rows: resealed,
    next: last === undefined || rows.length < pageRows ? null : [last.accountId, last.liveMode, last.id],
  }
}
