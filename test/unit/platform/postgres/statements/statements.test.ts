import { afterAll, describe, expect, it } from 'vitest'
import { dayNumber } from '../../../../../services/domain/civil-date.ts'
import { accepted } from '../../../../../services/domain/refusal.ts'
import { eraseStatements, redactAnswer } from '../../../../../services/platform/postgres/statements/erase-statements.ts'
import {
  deleteExpiredStatements,
  findStatement,
  lockFinals,
  readFinalAnswer,
  readFinals,
  recordAnswer,
  saveFinal,
  statementRetentionMs,
  voidFinal,
} from '../../../../../services/platform/postgres/statements/statements.ts'
import {
  changeTenant,
  type Tenant,
  withOperator,
  withTenant,
} from '../../../../../services/platform/postgres/transaction.ts'
import { makeTenants, openTestDatabase } from '../../../../support/stores/postgres.ts'

const at = 1_780_000_000_000
const opened = await openTestDatabase()
const { database } = opened
const { live: tenant } = await makeTenants(database)
afterAll(() => opened[Symbol.asyncDispose]())

let count = 0
const newAnswer = (locationId: string, month = 1) => {
  count += 1
  const [startDay, endDay] = [dayNumber(2026, month, 1), dayNumber(2026, month + 1, 1)]
  return { id: `stm_${String(count).padStart(24, '0')}`, locationId, request: '{}', startDay, endDay, hash: 'a', at }
}

const inTenant = <T>(work: Parameters<typeof withTenant<T>>[2]): Promise<T> => withTenant(database, tenant, work)
const record = (answer: ReturnType<typeof newAnswer>) => inTenant(tx => recordAnswer(tx, answer))

const line = { kind: 'ENERGY', component: 'energy', isTax: false, statementId: null, amountRounded: -5n } as const
const texts = { answer: '{"status":"FINAL","device_id":null}', summary: '{}', draftHash: 'draft', lines: [line] }

const finalise = (answer: ReturnType<typeof newAnswer>, text = texts.answer) =>
  changeTenant(database, tenant, async tx => {
    await lockFinals(tx, answer.locationId)
    await recordAnswer(tx, answer)
    await saveFinal(tx, answer.id, { ...texts, answer: text }, at)
    return accepted(null)
  })

describe('the request of a statement', () => {
  it('has a revision for each change of its hash', async () => {
    const answer = newAnswer('loc_1')
    const revisions = []
    for (const hash of ['a', 'a', 'b', 'a']) revisions.push((await record({ ...answer, hash }))?.revision)
    expect(revisions).toEqual([1, 1, 2, 3])
  })

  it('is stored for 90 days after it was last asked, then starts again', async () => {
    const answer = newAnswer('loc_2')
    await record({ ...answer, hash: 'b' })
    await record(answer)
    const last = at + statementRetentionMs
    expect(await inTenant(tx => findStatement(tx, answer.id, last - 1))).toMatchObject({ revision: 2, isFinal: false })
    expect(await inTenant(tx => findStatement(tx, answer.id, last))).toBeNull()
    expect(await record({ ...answer, at: last })).toEqual({ revision: 1, createdAt: last })
    const deleted = await deleteExpiredStatements(database.operator, last, 1_000)
    expect(deleted).toBeGreaterThan(0)
    expect(await inTenant(tx => findStatement(tx, answer.id, last))).not.toBeNull()
  })
})

describe('a FINAL statement', () => {
  it('has no common day with another one, by a constraint', async () => {
    const [first, second, later] = [newAnswer('loc_3'), newAnswer('loc_3'), newAnswer('loc_3', 2)]
    expect((await finalise(first)).ok).toBe(true)
    expect(await finalise(second)).toMatchObject({ ok: false, refusal: { code: 'statement_overlap' } })
    expect((await finalise(later)).ok).toBe(true)
    expect((await inTenant(tx => readFinals(tx, 'loc_3'))).map(({ id, lines }) => [id, lines])).toEqual([
      [first.id, [line]],
      [later.id, [line]],
    ])
  })

  it('does not change and does not expire until it is voided', async () => {
    const answer = newAnswer('loc_4')
    await finalise(answer)
    expect(await record({ ...answer, hash: 'other' })).toBeNull()
    const late = at + 10 * statementRetentionMs
    await deleteExpiredStatements(database.operator, late, 1_000)
    expect(await inTenant(tx => findStatement(tx, answer.id, late))).toMatchObject({ isFinal: true, hash: 'a' })
    await inTenant(tx => voidFinal(tx, answer.id, late))
    expect(await inTenant(tx => findStatement(tx, answer.id, late))).toMatchObject({ isFinal: false })
    expect(await inTenant(tx => readFinalAnswer(tx, answer.id))).toBeNull()
  })
})

const [car, van] = [`dev_${'a'.repeat(24)}`, `dev_${'b'.repeat(24)}`]
const userOf = (device: string, session: string | null): string =>
  `{"device_id":"${device}","session_reference_id":${JSON.stringify(session)},"energy":1}`
const withUsers = (...users: readonly string[]): string =>
  `{"id":"stm_1","status":"FINAL","name":${JSON.stringify(`"device_id":"${car}"`)},"users":[${users.join(',')}]}`

describe('the erasure of a FINAL statement', () => {
  const erase = (erased: { readonly locationIds: readonly string[]; readonly deviceIds: readonly string[] }) =>
    withOperator(database, transaction => eraseStatements(transaction, tenant as Tenant, erased))
  const answerOf = async (id: string) => (await inTenant(tx => readFinalAnswer(tx, id)))?.answer
  const redactedUser = '{"device_id":null,"session_reference_id":null,"energy":1}'
  const redactedOf = (...users: readonly string[]): string =>
    withUsers(...users).replace('"FINAL",', '"FINAL","redacted":true,')

  it('removes a device with its sessions, and keeps amounts and names', async () => {
    const answer = newAnswer('loc_5')
    await finalise(answer, withUsers(userOf(car, 'a "quoted" session'), userOf(van, null)))
    await erase({ locationIds: [], deviceIds: [car] })
    const once = redactedOf(redactedUser, userOf(van, null))
    expect(await answerOf(answer.id)).toBe(once)
    await erase({ locationIds: [], deviceIds: [car] })
    expect(await answerOf(answer.id)).toBe(once)
    await erase({ locationIds: ['loc_5'], deviceIds: [] })
    expect(await answerOf(answer.id)).toBe(redactedOf(redactedUser, redactedUser))
  })

  it('removes sessions without a device from those of an erased location, and deletes its requests', async () => {
    const own = '{"device_id":null,"session_reference_id":"mine","energy":1}'
    const [answer, request, other] = [newAnswer('loc_6'), newAnswer('loc_6', 2), newAnswer('loc_7')]
    await finalise(answer, withUsers(own))
    await finalise(other, withUsers(own))
    await record(request)
    await erase({ locationIds: ['loc_6'], deviceIds: [] })
    expect(await answerOf(answer.id)).toBe(redactedOf(redactedUser))
    expect(await answerOf(other.id)).toBe(withUsers(own))
    expect(await inTenant(tx => findStatement(tx, request.id, at))).toBeNull()
  })

  it('changes nothing without ids', () => {
    const text = withUsers('{"device_id":null,"session_reference_id":null,"energy":1}')
    expect(redactAnswer(text, 'dev_[0-9a-f]{24}', true)).toBe(text)
  })
})
