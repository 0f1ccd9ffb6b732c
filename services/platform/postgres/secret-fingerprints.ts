import { createHash, hkdfSync } from 'node:crypto'
import sql from 'sql-template-tag'
import { type Seal, sealWith } from '../access/seal.ts'
import { type Secret, secretTexts } from '../access/secrets.ts'
import { Failure } from '../failure.ts'
import { toTimestamp } from './column.ts'
import { type Database, readRows } from './database.ts'
import { type OperatorTransaction, withOperator } from './transaction.ts'
import { webhookPurpose } from './webhooks/webhook-secret.ts'

/** Key derivation text of provider credentials. A change makes stored credentials unreadable. */
export const credentialsPurpose = 'provider credentials'

/**
 * Secret whose loss makes stored data useless: `secret` hashes API keys; `credentials_key` encrypts the credentials of
 * providers.
 */
export type GuardedSecret = 'secret' | 'credentials_key'

type Query = OperatorTransaction['query']
type Sealed = { readonly owner: string; readonly text: string }

/** Some stored values that were sealed with the secret, newest first. */
const sampleOf: Readonly<Record<GuardedSecret, (query: Query) => Promise<readonly Sealed[]>>> = {
  secret: query =>
    readRows(query)(sql`
      select id as owner, secrets -> 0 ->> 'secret' as text from webhook_endpoints order by time_created desc limit 20`),
  credentials_key: query =>
    readRows(query)(sql`
      select id as owner, sealed as text from tariff_credentials order by time_created desc limit 20`),
}

const purposeOf: Readonly<Record<GuardedSecret, string>> = {
  secret: webhookPurpose,
  credentials_key: credentialsPurpose,
}
const variableOf: Readonly<Record<GuardedSecret, string>> = {
  secret: 'WATTLEDGER_SECRET',
  credentials_key: 'WATTLEDGER_CREDENTIALS_KEY',
}

const fingerprintOf = (text: string): string => {
  const derived = Buffer.from(hkdfSync('sha256', text, '', 'wattledger secret fingerprint', 32))
  return createHash('sha256').update(derived).digest('hex')
}

const canOpen = ({ open }: Seal, { owner, text }: Sealed): boolean => {
  try {
    open(text, owner)
    return true
  } catch {
    return false
  }
}

/**
 * Decide if a database without a fingerprint was used with this secret: a stored value opens, or no value depends on
 * the secret yet.
 */
const fitsStored = async (query: Query, name: GuardedSecret, secret: Secret, isNew: boolean): Promise<boolean> => {
  const sample = await sampleOf[name](query)
  const seal = sealWith(secret, purposeOf[name])
  if (sample.length > 0) return sample.some(one => canOpen(seal, one))
  if (name !== 'secret' || !isNew) return true
  const { rows } = await query(sql`select 1 from api_keys limit 1`)
  return rows.length === 0
}

/**
 * Confirm that the database was used with a secret before, then call `save`. A database without a fingerprint accepts
 * the present secret once: if a stored value opens with it, or if no value depends on a secret yet. A changed secret is
 * accepted if the configuration also has a former one. `isNew`: this start created the secret and has not saved it.
 * `save` writes it to disk before the database records it, so that the next start accepts it after a crash in between.
 * Throws `Failure` `secret_changed`, and writes nothing, if the database was used with another secret.
 */
export const confirmSecret = (
  database: Database,
  name: GuardedSecret,
  options: { readonly secret: Secret; readonly isNew: boolean; readonly save: () => void; readonly at: number },
): Promise<void> =>
  withOperator(database, async ({ query }) => {
    const { secret, isNew, save, at } = options
    await query(sql`select pg_advisory_xact_lock(hashtextextended('wattledger secret fingerprints', 0))`)
    const { rows } = await query<{
      fingerprint: string
    }>(sql`select fingerprint from secret_fingerprints where name = ${name}`)
    const known = rows.map(({ fingerprint }) => fingerprint)
    const fingerprints = secretTexts(secret).map(fingerprintOf)
    const isKnown =
      known.length > 0 ? fingerprints.some(one => known.includes(one)) : await fitsStored(query, name, secret, isNew)
    if (!isKnown) throw secretChanged(name)
    save()
    if (known.includes(fingerprints[0] as string)) return
    await query(sql`
      insert into secret_fingerprints (name, fingerprint, time_created)
      values (${name}, ${fingerprints[0]}, ${toTimestamp(at)})`)
  })

const secretChanged = (name: GuardedSecret): Failure => {
  const setting = `set ${variableOf[name]} to the value that the database was used with`
  const message = `This ${name.replace('_', ' ')} is not the one of the database.`
  const advice = `Restore secrets.json in the data folder, or ${setting}.`
  return new Failure('secret_changed', `${message} ${advice}`)
}
