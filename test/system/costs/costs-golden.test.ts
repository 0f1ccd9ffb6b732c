import { describe, expect, it } from 'vitest'
import { goldenText } from '../../support/golden.ts'
import type { ApiVersion, Client, Reply } from '../../support/system/client.ts'
import { makeHome, makeOne } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const times = { start_time: '2025-09-14T12:00:00+02:00', end_time: '2025-09-14T12:15:00+02:00' }
const span = { start_time: '2025-09-14T00:00:00+02:00', end_time: '2025-09-16T00:00:00+02:00' }

/** Request fields that differ between the API versions. */
const words = {
  current: {
    flow: { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' },
    query: 'tariff_direction=EXPORT',
  },
  earlier: { flow: { direction: 'EXPORT', tariff_rate: 'EXPORT' }, query: 'direction=EXPORT' },
} as const

/** Create one answer of each kind about metering and costs, in an API version. */
const answersIn = async (
  client: Client,
  maker: Client,
  apiVersion: ApiVersion,
): Promise<Readonly<Record<string, Reply>>> => {
  const { flow, query } = words[apiVersion]
  const home = await makeHome(maker, { import: 0.3 }, { reference_id: `home in API version ${apiVersion}` })
  const sold = { location_id: home, direction: 'EXPORT', type: 'COMMODITY' }
  const tiers = [{ fixed: 0.08, to_kwh: 1 }, { fixed: 0.0612345 }]
  const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: tiers }]
  await maker.ask('POST', '/tariffs', {
    ...sold,
    schedule: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }],
  })
  const car = await makeOne(maker, '/devices', { reference_id: `car in API version ${apiVersion}` })
  const record = {
    location_id: home,
    device_id: car,
    session_reference_id: `${apiVersion}-17`,
    record_reference_id: 'reading-1',
    ...times,
  }
  const good = { ...record, ...flow, units: 'KWH', value: 1.2345, confidence: 0.9 }
  const late = {
    ...record,
    record_reference_id: 'reading-2',
    units: 'KW',
    value: 7.2,
    end_time: '2025-09-14T09:59:00Z',
  }
  const batch = await client.send('PUT', '/meters/interval', [good, late])
  await client.submit([good])
  const { id } = batch.json as { id: string }
  const list = await client.send('GET', `/meters/records?session_reference_id=${apiVersion}-17`)
  const { data } = list.json as { data: readonly { id: string }[] }
  const instant = { ...record, record_reference_id: null, units: 'KW', value: 7.2 }
  return {
    meter_batch: batch,
    meter_batch_processed: await client.send('GET', `/meters/batch?batch_id=${id}`),
    meter_record: await client.send('POST', '/costs/instant?non_persistent=true', instant),
    stored_meter_record: await client.send('GET', `/meters/records/${data[0]?.id}`),
    stored_meter_record_list: list,
    energy_cost: await client.send('POST', `/costs/interval/${car}?${query}&aggregation=DAY`, span),
    energy_cost_of_session: await client.send('POST', `/costs/session/${apiVersion}-17?${query}&include_records=true`),
    ...(apiVersion === 'current'
      ? { meter_correction_list: await correctionsOf(client, { ...good, value: 1.5 }) }
      : {
          energy_cost_without_tariff: await client.send(
            'POST',
            `/costs/interval/${car}?${query}&include_tariff=false`,
            span,
          ),
        }),
  }
}

/** Correct a record, and list its corrections. */
const correctionsOf = async (
  client: Client,
  record: { readonly location_id: string; readonly value: number },
): Promise<Reply> => {
  const { id } = (await client.submit([record])) as { readonly id: string }
  await until(
    async () => (await client.ask('GET', `/meters/batch/${id}`)) as { readonly status: string },
    ({ status }) => status === 'COMPLETE',
  )
  return client.send('GET', `/meters/corrections?location_id=${record.location_id}`)
}

describe.each(['current', 'earlier'] as const)('the %s API version', apiVersion => {
  it('writes metering and costs as published', async () => {
    const answers = await answersIn(await system.login('test', apiVersion), await system.login(), apiVersion)
    for (const [name, { status, text }] of Object.entries(answers)) {
      expect(status, `${name}: ${text}`).toBe(200)
      await expect(goldenText(text)).toMatchFileSnapshot(`../../golden/${apiVersion}/${name}.json`)
    }
  })
})
