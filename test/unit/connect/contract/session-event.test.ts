import { describe, expect, it } from 'vitest'
import { connectTokenRetrieve } from '../../../../services/connect/contract/connect-session.ts'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { eventToWire } from '../../../../services/contract/events/event.ts'
import { answerInApiVersion } from '../../../../services/contract/exchange.ts'

const session = { id: 'cot_1', object: 'connect_session', live_mode: true, price_available: true }
const event = {
  id: 'evt_1',
  accountId: 'acc_1',
  liveMode: true,
  type: 'connect_session.complete',
  createdAt: 0,
  data: JSON.stringify(session),
}

describe.each(apiVersions)('the data of connect_session.complete, in the %s API version', apiVersion => {
  it('equals the answer of the retrieval, and names the action in the earlier version', () => {
    const { complete_action: action, ...data } = eventToWire(event, apiVersion).data
    expect(JSON.stringify(data)).toBe(JSON.stringify(answerInApiVersion(connectTokenRetrieve, session, apiVersion)))
    expect(action).toBe(apiVersion === 'earlier' ? 'SAVE' : undefined)
  })
})
