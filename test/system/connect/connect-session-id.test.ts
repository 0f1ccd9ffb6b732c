import sql, { raw } from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import {
  apiVersions,
  bandsOf,
  completed,
  connectFixture,
  goToRate,
  locationOf,
  retrieve,
  routesOf,
  tariffsOf,
} from '../../support/connect/connect-fixture.ts'
import { connectAccount, londonAddress } from '../../support/connect/connect-service.ts'

const { begin, saveFixed, service, openSession } = connectFixture()

const everyRow = async (): Promise<string> => {
  const { operator } = service().database
  const { rows: tables } = await operator<{ name: string }>(sql`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and has_table_privilege(oid, 'select')`)
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await operator<{ text: string }>(sql`select t::text as text from ${raw(name)} t`)
    texts.push(...rows.map(({ text }) => text))
  }
  return texts.join('\n')
}

describe.each(apiVersions)('the id of a session, in the %s API version', apiVersion => {
  const base = apiVersion === 'current' ? '/connect/token' : '/connect/tariff/token'

  it('is returned with the token, and is in connect_session.complete without the token', async () => {
    const { call, token } = await saveFixed(apiVersion, 0.3)
    const [event] = await completed(call)
    const data = (event?.['data'] ?? {}) as Readonly<Record<string, unknown>>
    const sessionId = String(data['session_id'])
    expect(sessionId).toMatch(/^fps_[0-9a-f]{24}$/)
    expect(data).not.toHaveProperty('id')
    expect(JSON.stringify(event)).not.toContain(token)
    const byToken = (await retrieve(call, apiVersion, token)).body
    expect(byToken).toMatchObject({ id: token, session_id: sessionId })
    const { id: _, ...rest } = byToken
    const byId = await call('GET', `${base}/${sessionId}`)
    expect([byId.status, byId.body]).toEqual([200, rest])
    const found = await call('GET', `/events?object_id=${sessionId}`)
    expect(found.body['data']).toHaveLength(1)
  })

  it('is readable by its own account only, and only after the session is complete', async () => {
    const { call } = await connectAccount(service(), apiVersion)
    const urls = { connect_url: 'https://app.example.com', callback_url: 'https://app.example.com/done' }
    const made = await call(
      'POST',
      base,
      apiVersion === 'current'
        ? urls
        : { ...urls, connect_url: undefined, callback_uri: urls.callback_url, callback_url: undefined },
    )
    const sessionId = String(made.body['session_id'])
    expect(await call('GET', `${base}/${sessionId}`)).toMatchObject({ status: 422, body: { code: 'pending_connect' } })
    const { call: otherAccount } = await connectAccount(service(), apiVersion)
    expect((await otherAccount('GET', `${base}/${sessionId}`)).status).toBe(404)
    for (const none of [`fps_${'0'.repeat(24)}`, `cot_${'0'.repeat(32)}`, 'x'])
      expect((await call('GET', `${base}/${none}`)).status).toBe(404)
  })

  it('grants no access: the flow accepts tokens only', async () => {
    const { call, flow } = await saveFixed(apiVersion, 0.3)
    const [event] = await completed(call)
    const sessionId = String((event?.['data'] as Readonly<Record<string, unknown>> | undefined)?.['session_id'])
    expect(sessionId).not.toBe(flow.token)
    const body = JSON.stringify({ connect_token: sessionId, route: 'session_start' })
    const answer = await service().app.request('/flow/here', { method: 'POST', body })
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'connect_token_invalid' }])
  })

  it('is stored, and the token is in no row of any table', async () => {
    const { token, call } = await saveFixed(apiVersion, 0.3)
    const rows = await everyRow()
    expect(rows).toContain(String((await retrieve(call, apiVersion, token)).body['session_id']))
    expect(rows).not.toContain(token)
    expect(rows).not.toContain(token.slice(4))
  })
})

describe.each(apiVersions)('a token after its session is complete, in the %s API version', apiVersion => {
  const { end, fixedSummary } = routesOf(apiVersion)

  it('can read, but not change, after ten minutes', async () => {
    const { call, flow } = await saveFixed(apiVersion, 0.3)
    const before = [await tariffsOf(call), await locationOf(call)]
    service().clock.at += 600_000
    const shown = await flow.submit('session_start')
    expect(shown.route).toBe(apiVersion === 'current' ? fixedSummary : end)
    for (const action of ['EDIT', 'DISCONNECT', 'ADDRESS_CHANGE', 'PROVIDER_MISSING', 'TARIFF_MISSING', 'RECONNECT']) {
      expect([action, await flow.act(action)]).toMatchObject([
        action,
        { code: 'action_invalid', message: expect.stringContaining('complete') },
      ])
    }
    for (const [route, data] of [
      ['postal_address_capture', { postal_address: { ...londonAddress, address_line1: 'Elsewhere 1' } }],
      ['provider_name_capture', { provider: { name: 'Corner Shop' } }],
      ['tariff_structure_select', { options: ['TIME_OF_DAY'] }],
      ['rate_fixed_capture', { cost: 0.9 }],
    ] as const) {
      expect([route, (await flow.submit(route, data)).code]).toEqual([route, 'action_invalid'])
    }
    await flow.submit('tariff_name_capture', { tariff: { name: 'Mine' } })
    await flow.submit('contract_term_capture', {
      contract_start_date: null,
      contract_end_date: '2027-01-01T00:00:00Z',
      contract_term_type: 'FIXED',
    })
    expect((await flow.act('BACK')).route).toBe(end)
    expect((await flow.act('CLOSE')).route).toBe(end)
    expect((await flow.act('SAVE')).route).toBe(end)
    expect([await tariffsOf(call), await locationOf(call)]).toEqual(before)
    expect(await completed(call)).toHaveLength(1)
  })

  it('can replace the tariff that the session has saved for ten minutes, with EDIT or BACK', async () => {
    const { call, flow } = await saveFixed(apiVersion, 0.3)
    const [first] = await tariffsOf(call)
    service().clock.at += 599_000
    expect((await flow.act('EDIT')).route).toBe('provider_select')
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    await flow.submit('rate_fixed_capture', { cost: 0.2 })
    if (apiVersion === 'earlier') await flow.act('SAVE')
    const replaced = await tariffsOf(call)
    expect(replaced).toMatchObject([
      { display_name: 'Corner Shop', contract_start_date: first?.['contract_start_date'] },
    ])
    expect(replaced[0]?.['id']).not.toBe(first?.['id'])
    if (apiVersion === 'earlier') expect((await flow.act('BACK')).route).toBe(fixedSummary)
    expect((await flow.act('BACK')).route).toBe('rate_fixed_capture')
    await flow.submit('rate_fixed_capture', { cost: 0.1 })
    if (apiVersion === 'earlier') await flow.act('SAVE')
    expect(bandsOf((await tariffsOf(call))[0])).toMatchObject([{ rate: [{ fixed: 0.1 }] }])
    expect(await completed(call)).toHaveLength(1)
    service().clock.at += 1_000
    expect((await flow.act('EDIT')).code).toBe('action_invalid')
  })

  it('answers a repeated submit with the page that followed it', async () => {
    const { call, flow } = await begin(apiVersion, { route_options: {} })
    await goToRate(flow, 'FIXED')
    const shown = await flow.submit('rate_fixed_capture', { cost: 0.3 })
    expect(await flow.submit('rate_fixed_capture', { cost: 0.3 })).toMatchObject({ route: shown.route })
    if (apiVersion === 'earlier') await flow.act('SAVE')
    expect(await tariffsOf(call)).toHaveLength(1)
  })

  it('can change the tariff if the session was created with edit_tariff', async () => {
    const { call } = await saveFixed(apiVersion, 0.3)
    const flow = await openSession(call, apiVersion, {
      location_id: (await locationOf(call))['id'],
      actions: { edit_tariff: true },
    })
    await flow.submit('session_start')
    await flow.submit('provider_name_capture', { provider: { name: 'Corner Shop' } })
    await flow.submit('tariff_structure_select', { options: ['FIXED'] })
    const shown = await flow.submit('rate_fixed_capture', { cost: 0.2 })
    if (apiVersion === 'earlier') await flow.act('SAVE')
    else expect(shown.actions).toEqual(['WRONG_TARIFF_REPORT', 'EDIT', 'DISCONNECT', 'CLOSE', 'BACK'])
    expect((await flow.act('DISCONNECT')).route).toBe(end)
    expect((await flow.act('DISCONNECT')).route).toBe(end)
    expect(await tariffsOf(call)).toEqual([])
  })
})
