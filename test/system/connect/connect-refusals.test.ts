import { describe, expect, it } from 'vitest'
import { listProviders } from '../../../services/platform/postgres/registry/providers.ts'
import {
  apiVersions,
  connectFixture,
  goToRate,
  goToStructure,
  providerNamed,
  routesOf,
} from '../../support/connect/connect-fixture.ts'
import { type Flow, londonAddress } from '../../support/connect/connect-service.ts'

const { begin, service } = connectFixture()

describe.each(apiVersions)('a refused submit in the %s API version', apiVersion => {
  const status = apiVersion === 'current' ? 400 : 409
  const { summary, surcharge } = routesOf(apiVersion)

  /** Post data that is refused, and check that the session does not change. */
  const refusing = (flow: Flow, route: string) => async (data: object | undefined, code: string) => {
    const { route: before } = await flow.submit('session_start')
    const page = await flow.submit(route, data)
    expect(page, `${route} ${JSON.stringify(data)}`).toMatchObject({
      status,
      code,
      body: {
        object: 'error',
        type: 'invalid_request',
        connect_token: flow.token,
        context: `connect.${route}`,
        message: expect.stringMatching(/.+/),
        request_id: expect.stringMatching(/.+/),
      },
    })
    expect((await flow.submit('session_start')).route).toBe(before)
  }

  it('of an address', async () => {
    const { flow } = await begin(apiVersion)
    const refuses = refusing(flow, 'postal_address_capture')
    const without = (part: object) => ({ postal_address: { ...londonAddress, ...part } })
    await refuses(without({ address_line1: ' ' }), 'address_line1_missing')
    await refuses(without({ city: '' }), 'city_missing')
    await refuses(without({ post_code: '  ' }), 'post_code_missing')
    await refuses(without({ country_code: '' }), 'country_code_missing')
    await refuses(without({ country_code: 'QQ' }), 'country_code_invalid')
    await refuses(without({ country_code: 'GBR' }), 'country_code_invalid')
    await refuses(without({ city: 'Nowhereville', country_code: 'US', post_code: 'x' }), 'geo_location_not_found')
    await refuses({ postal_address: 'London' }, 'data_json_invalid')
    for (const part of ['address_line1', 'address_line2', 'city', 'state', 'post_code', 'country_code']) {
      await refuses(without({ [part]: 1 }), 'data_json_invalid')
      expect((await flow.submit('postal_address_capture', without({ [part]: 12345 }))).body).toMatchObject({
        field: `data.postal_address.${part}`,
        message: expect.stringContaining('must be a string'),
      })
    }
    const austin = without({ city: 'Austin', country_code: 'US', post_code: '78701' })
    await refuses(austin, 'geo_location_not_found')
    expect((await flow.submit('postal_address_capture', austin)).body).toMatchObject({
      field: 'data.postal_address.state',
    })
    await refuses(without({ city: 'Ingensteds', country_code: 'SE', post_code: '57230' }), 'geo_location_not_found')
    await refuses({}, 'address_line1_missing')
  })

  it('of a provider', async () => {
    const { flow } = await begin(apiVersion)
    await flow.submit('postal_address_capture', { postal_address: londonAddress })
    const refuses = refusing(flow, 'provider_select')
    await refuses({}, 'provider_id_missing')
    await refuses(undefined, 'provider_id_missing')
    await refuses({ provider: 'prv_1' }, 'data_json_invalid')
    await refuses({ provider: { id: `prv_${'0'.repeat(24)}` } }, 'provider_not_found')
    const [french] = await listProviders(service().database.operator, { country: 'FR', addressType: null })
    await refuses({ provider: { id: french?.id } }, 'provider_id_invalid')
    const named = refusing(flow, 'provider_name_capture')
    await named({ provider: { name: ' ' } }, 'provider_name_missing')
    await named({ provider: { name: 7 } }, 'data_json_invalid')
    await refuses({ provider: { id: 7 } }, 'data_json_invalid')
    await named({ provider: [] }, 'data_json_invalid')
  })

  it('of a tariff of a library, and of a structure', async () => {
    const { flow } = await begin(apiVersion, { route_options: {} })
    await goToStructure(flow)
    const library = refusing(flow, 'tariff_select')
    await library({}, 'tariff_id_missing')
    await library({ tariff: { id: 'trt_1' } }, 'tariff_not_found')
    await library({ tariff: 7 }, 'data_json_invalid')
    const structure = refusing(flow, 'tariff_structure_select')
    await structure({ options: [] }, 'option_invalid')
    await structure({ options: ['FIXED', 'MARKET'] }, 'option_invalid')
    await structure({ options: ['CHEAP'] }, 'option_invalid')
    await structure({ options: 'FIXED' }, 'data_json_invalid')
    await structure({ options: ['ADVANCED'] }, 'option_not_supported')
  })

  it('of prices', async () => {
    const { flow } = await begin(apiVersion)
    await goToRate(flow, 'FIXED')
    const fixed = refusing(flow, 'rate_fixed_capture')
    await fixed({ cost: 0 }, 'cost_value_zero')
    await fixed({ cost: -0.01 }, 'cost_value_negative')
    await fixed({ cost: {} }, 'data_json_invalid')
    await fixed({}, 'data_json_invalid')
    await flow.submit('tariff_structure_select', { options: ['TIME_OF_DAY'] })
    const hours = refusing(flow, 'rate_tod_capture')
    const period = (valid_from: string, valid_to: string, cost = 0.2) => ({ cost, valid_from, valid_to })
    const untouched = period('00:00:00', '00:00:00', 0)
    await hours({ hours: [untouched, untouched] }, 'cost_value_zero')
    await hours({ hours: [period('00:00:00', '00:00:00', -1)] }, 'cost_value_negative')
    await hours({ hours: [period('7', '00:00:00')] }, 'valid_from_invalid')
    await hours({ hours: [period('00:00:00', '25:00:00')] }, 'valid_to_invalid')
    await hours({ hours: [period('00:00:00', '11:00:00'), period('12:00:00', '00:00:00')] }, 'gap_in_time_period')
    await hours({ hours: [period('07:00:00', '23:00:00')] }, 'incomplete_time_period')
    await hours({ hours: 'all day' }, 'data_json_invalid')
    await flow.submit('tariff_structure_select', { options: ['MARKET'] })
    const surcharges = refusing(flow, surcharge)
    await surcharges({ surcharge: { fixed: 0, percentage: -1 } }, 'surcharge_percentage_invalid')
    await surcharges({ surcharge: { fixed: 0, percentage: 'much' } }, 'surcharge_percentage_invalid')
    await surcharges({ surcharge: [] }, 'data_json_invalid')
  })

  it('of a name, a term, and an action', async () => {
    const { flow } = await begin(apiVersion)
    await goToRate(flow, 'FIXED')
    await flow.submit('rate_fixed_capture', { cost: 0.3 })
    const name = refusing(flow, 'tariff_name_capture')
    await name({}, 'tariff_name_missing')
    await name({ tariff: { name: '   ' } }, 'tariff_name_missing')
    await name({ tariff: 'Mine' }, 'data_json_invalid')
    await flow.submit('tariff_name_capture', { tariff: { name: 'x' } })
    const term = refusing(flow, 'contract_term_capture')
    await term({ contract_start_date: 'yesterday' }, 'date_format_invalid')
    await term({ contract_end_date: '2026-02-30T00:00:00Z' }, 'date_format_invalid')
    await term({ contract_term_type: 'FOREVER' }, 'data_json_invalid')
    await flow.submit('contract_term_capture')
    await refusing(flow, summary)({}, 'action_missing')
    await refusing(flow, summary)(undefined, 'action_missing')
    expect(await flow.act('JUMP', summary)).toMatchObject({
      status,
      code: 'action_invalid',
      body: { context: `connect.${summary}` },
    })
    expect(await flow.act('RECONNECT')).toMatchObject({
      status,
      code: 'action_invalid',
      body: { context: 'connect.session' },
    })
  })

  it('of a page that is not the current page', async () => {
    const { flow } = await begin(apiVersion)
    await refusing(flow, 'provider_select')({ provider: { id: `prv_${'0'.repeat(24)}` } }, 'provider_not_found')
    const providers = await flow.submit('postal_address_capture', { postal_address: londonAddress })
    await flow.submit('provider_select', { provider: { id: providerNamed(providers, 'Ecotricity') } })
    await refusing(flow, 'rate_fixed_capture')({ cost: 1 }, 'route_invalid')
    await refusing(flow, 'tariff_name_capture')({ tariff: { name: 'x' } }, 'route_invalid')
    await refusing(flow, 'moon_landing')({}, 'route_invalid')
    expect(await flow.post({ connect_token: flow.token, route: 'postal_address_capture', data: [1] })).toMatchObject({
      status,
      code: 'data_json_invalid',
      body: { connect_token: flow.token, context: 'connect.postal_address_capture' },
    })
  })
})
