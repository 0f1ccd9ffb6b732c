import type { ServiceClient } from '../../services/command-line/service-client.ts'
import { writeInstant } from '../../services/domain/instant.ts'
import type { CreatedFleet } from './create-fleet.ts'
import { dayMs, hourMs, type Period, purchase, quarterMs } from './reading.ts'
import { requestWithRetries } from './retry.ts'
import { recordOf, sendRecords } from './send-readings.ts'

type Named = { readonly id: string; readonly display_name: string | null }

/** Address that no request reaches: the name is reserved for tests. */
const unreachable = 'https://billing.demo.invalid/wattledger'

/** Number of days before now of the corrected reading. */
const correctedDays = 6
const correctedWh = 4_250

/** Send a reading of a site again with another value. Returns the text of the correction. */
const correctReading = async (client: ServiceClient, { sites }: CreatedFleet, period: Period): Promise<string> => {
  const site = sites.find(({ kind }) => kind === 'solar') ?? sites[0]
  if (site === undefined) throw new Error('The fleet has no sites.')
  const days = Math.min(correctedDays, period.days - 1)
  const start = Math.max(period.start, Math.floor((period.end - days * dayMs) / dayMs) * dayMs + 4 * hourMs)
  const at = Math.min(start, period.end - quarterMs)
  await sendRecords(client, [recordOf({ ...purchase(correctedWh, at), session: null }, site, '')])
  return `${site.name}, ${writeInstant(at)}: now ${correctedWh / 1_000} kWh`
}

/** End the contract of a dynamic tariff in 12 days. Returns its name. */
const endContract = async (client: ServiceClient, { sites }: CreatedFleet, period: Period): Promise<string> => {
  const site = sites.find(({ kind }) => kind === 'market') ?? sites[0]
  const list = await requestWithRetries<{ readonly data: readonly Named[] }>(
    client,
    'GET',
    `/tariffs?location_id=${site?.locationId}&type=COMMODITY`,
  )
  const [tariff] = list.data
  if (tariff === undefined) throw new Error('The site has no tariff.')
  const contract_end_date = writeInstant(Math.floor(period.end / dayMs + 12) * dayMs)
  await requestWithRetries(client, 'PATCH', `/tariffs/${tariff.id}`, { contract_end_date })
  return `${tariff.display_name} of ${site?.name}`
}

/** What a person at the console can find, beside the records: a correction, an end of a contract, a failing webhook. */
export type OfficeDay = { readonly corrected: string; readonly ending: string; readonly webhook: string }

/** Make the changes of a usual day in an office: correct a reading, end a contract, and add a webhook endpoint. */
export const playOfficeDay = async (client: ServiceClient, fleet: CreatedFleet, period: Period): Promise<OfficeDay> => {
  await requestWithRetries(client, 'POST', '/webhooks', {
    url: unreachable,
    event_types: ['price.*'],
    description: 'Demo: an address that nothing answers, so that you see failed deliveries',
  })
  return {
    corrected: await correctReading(client, fleet, period),
    ending: await endContract(client, fleet, period),
    webhook: unreachable,
  }
}
