import { describe, expect, it } from 'vitest'
import { connectTokenRetrieve } from '../../../services/connect/contract/connect-session.ts'
import { apiVersions } from '../../../services/contract/api-version.ts'
import { eventToWire } from '../../../services/contract/events/event.ts'
import { answerInApiVersion } from '../../../services/contract/exchange.ts'
import type { Operation } from '../../../services/contract/operation.ts'
import { scheduleAmount } from '../../../services/contract/schedules/schedule-amount.ts'

const event = { id: 'evt_1', accountId: 'acc_1', liveMode: true, type: 'any', createdAt: 0 }
const session = { id: 'cot_1', object: 'connect_session', live_mode: true, price_available: true }

describe.each(apiVersions)('the data of an event, in the %s API version', apiVersion => {
  it.each([
    [scheduleAmount, scheduleAmount.examples?.answer, 'schedule.created'],
    [connectTokenRetrieve, session, 'connect_session.complete'],
  ] as readonly (readonly [Operation, unknown, string])[])('equals the answer of $id', (operation, answer, type) => {
    const written = eventToWire({ ...event, type, data: JSON.stringify(answer) }, apiVersion)
    const { complete_action: _, ...data } = written.data
    expect(JSON.stringify(data)).toBe(JSON.stringify(answerInApiVersion(operation, answer, apiVersion)))
  })

  it('describes a completed session as its retrieval does', () => {
    const written = eventToWire(
      { ...event, type: 'connect_session.complete', data: JSON.stringify(session) },
      apiVersion,
    )
    expect(written.data['complete_action']).toBe(apiVersion === 'earlier' ? 'SAVE' : undefined)
  })

  it('omits text members that are null, in the earlier API version', () => {
    const data = { id: 'dev_1', object: 'device', last_seen: null, metadata: {} }
    const written = eventToWire({ ...event, type: 'device.create', data: JSON.stringify(data) }, apiVersion)
    expect(Object.keys(written.data).includes('last_seen')).toBe(apiVersion === 'current')
  })

  it('does not change if both API versions use the same names', () => {
    const data = { id: 'dev_1', object: 'device', live_mode: true, metadata: { cost: 'a' } }
    expect(JSON.stringify(eventToWire({ ...event, data: JSON.stringify(data) }, apiVersion).data)).toBe(
      JSON.stringify(data),
    )
  })
})
