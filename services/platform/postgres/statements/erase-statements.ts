import sql from 'sql-template-tag'
import { ownedBy } from '../page.ts'
import type { OperatorTransaction, Tenant } from '../transaction.ts'

/** Number of statements that are read at a time: an answer has up to 16 MiB. */
const statementsPerPage = 4

/** Regular expression of the id of a device. */
export const anyDevice = 'dev_[0-9a-f]{24}'

/**
 * Remove the devices and sessions of peaks from the JSON of a FINAL statement, and mark it as redacted. `devices`: a
 * regular expression of the ids. In JSON text a quote inside a string has a backslash, so only members match.
 */
export const redactAnswer = (answer: string, devices: string, removesSessions: boolean): string => {
  const session = '"session_reference_id":"(?:[^"\\\\]|\\\\.)*"'
  const ofDevice = new RegExp(`"device_id":"(?:${devices})","session_reference_id":(?:null|"(?:[^"\\\\]|\\\\.)*")`, 'g')
  const withoutDevices = answer.replace(ofDevice, '"device_id":null,"session_reference_id":null')
  const redacted = removesSessions
    ? withoutDevices.replace(new RegExp(session, 'g'), '"session_reference_id":null')
    : withoutDevices
  if (redacted === answer || answer.includes('"status":"FINAL","redacted":true,')) return redacted
  return redacted.replace('"status":"FINAL",', '"status":"FINAL","redacted":true,')
}

type Erased = { readonly locationIds: readonly string[]; readonly deviceIds: readonly string[] }

/**
 * Erase objects from statements. Requests of erased locations are deleted. FINAL statements stay with their amounts:
 * all devices and sessions are removed from those of erased locations, erased devices and their sessions from others.
 * Repeats change nothing.
 */
export const eraseStatements = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  { locationIds, deviceIds }: Erased,
): Promise<void> => {
  const owned = ownedBy(tenant)
  await query(sql`delete from statements where ${owned} and location_id = any(${locationIds}) and finalised_at is null`)
  const namesDevice = sql`exists (select from unnest(${deviceIds}::text[]) d where strpos(answer, d) > 0)`
  for (let after = ''; ; ) {
    const { rows } = await query<{ id: string; isOfErased: boolean; answer: string }>(sql`
      select id, location_id = any(${locationIds}) as "isOfErased", answer from statements
      where ${owned} and id > ${after} and finalised_at is not null
        and (location_id = any(${locationIds}) or ${namesDevice})
      order by id limit ${statementsPerPage}`)
    for (const { id, isOfErased, answer } of rows) {
      const redacted = redactAnswer(answer, isOfErased ? anyDevice : deviceIds.join('|'), isOfErased)
      if (redacted !== answer)
        await query(sql`update statements set answer = ${redacted} where ${owned} and id = ${id}`)
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < statementsPerPage) return
    after = last.id
  }
}
