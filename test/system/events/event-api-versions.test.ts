import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../services/contract/api-version.ts'
import { eventToWire } from '../../../services/contract/events/event.ts'
import { answerInApiVersion } from '../../../services/contract/exchange.ts'
import { scheduleAmount } from '../../../services/contract/schedules/schedule-amount.ts'

const event = { id: 'evt_1', accountId: 'acc_1', liveMode: true, type: 'any', createdAt: 0 }

describe.each(apiVersions)('the data of an event, in the %s API version', apiVersion => {
  it('equals the answer of its operation', () => {
    const answer = scheduleAmount.examples?.answer
    const written = eventToWire({ ...event, type: 'schedule.created', data: JSON.stringify(answer) }, apiVersion)
    expect(JSON.stringify(written.data)).toBe(JSON.stringify(answerInApiVersion(scheduleAmount, answer, apiVersion)))
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
