import { describe, expect, it } from 'vitest'
import {
  completed,
  eventsOf,
  locationOf,
  loginFixture,
  retrieve,
  tariffsOf,
} from '../../support/connect/connect-fixture.ts'
import { providerPlan } from '../../support/connect/provider-app.ts'

const { logIn, provider, service, startAtLogin } = loginFixture()

const hourMs = 3_600_000

describe('a provider that does not answer', () => {
  it('leaves the tariff pending, then connected, and reports the session once', async () => {
    const { call, token, flow } = await startAtLogin()
    provider().reply = 'never'
    expect((await logIn(token)).route).toBe('session_redirect')
    expect(await flow.submit('session_start')).toMatchObject({
      route: 'tariff_connection_pending',
      actions: ['EDIT', 'DISCONNECT', 'BACK', 'CLOSE'],
      data: { connection_type: 'DIRECT', provider: { display_name: 'Direct Energy' } },
    })
    expect((await locationOf(call))['tariff_status']).toMatchObject({ commodity_import: 'PENDING' })
    expect((await retrieve(call, 'current', token)).body).toMatchObject({
      code: 'pending_connect',
      message: 'The provider has not delivered the tariff yet.',
    })
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    service().clock.at += hourMs
    await service().turn()
    expect((await flow.submit('session_start')).route).toBe('tariffs_summary')
    expect((await locationOf(call))['tariff_status']).toMatchObject({ commodity_import: 'CONNECTED' })
    expect(await completed(call)).toHaveLength(1)
  })

  it('counts as failed after 48 h, and as connected after it answers', async () => {
    const { call, token } = await startAtLogin()
    await logIn(token)
    provider().reply = 'never'
    const failed = () => eventsOf(call, 'tariff.fetch.failed')
    for (let day = 0; day < 3; day += 1) {
      service().clock.at += 24 * hourMs
      await service().turn()
    }
    expect(await failed()).toHaveLength(1)
    expect((await locationOf(call))['tariff_status']).toMatchObject({ commodity_import: 'ERROR' })
    const [tariff] = await tariffsOf(call)
    expect((await failed())[0]).toMatchObject({ data: { tariff_id: tariff?.['id'], live_mode: false } })
    service().clock.at += 24 * hourMs
    await service().turn()
    expect(await failed()).toHaveLength(1)
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    service().clock.at += 24 * hourMs
    await service().turn()
    expect(await tariffsOf(call)).toMatchObject([{ id: tariff?.['id'], status: 'CONNECTED' }])
  })

  it('changes prices from the local day on, and the same prices change nothing', async () => {
    const { call, token } = await startAtLogin()
    await logIn(token)
    const [first] = await tariffsOf(call)
    service().clock.at += 24 * hourMs
    await service().turn()
    expect(await tariffsOf(call)).toMatchObject([{ id: first?.['id'] }])
    provider().reply = { status: 200, body: providerPlan(0.31) }
    service().clock.at += 24 * hourMs
    await service().turn()
    const [tariff] = await tariffsOf(call)
    expect(tariff).toMatchObject({ connection_type: 'DIRECT' })
    const inLondon = (at: number): string => new Date(at).toLocaleString('sv', { timeZone: 'Europe/London' })
    expect(inLondon(Date.parse(String(tariff?.['contract_start_date'])))).toBe(
      `${inLondon(service().clock.at).slice(0, 10)} 00:00:00`,
    )
  })
})
