import { readTariffTerms, type TariffTermsInput } from '../../../contract/tariffs/read-tariff-terms.ts'
import type { TariffWire } from '../../../contract/tariffs/tariff.ts'
import { scheduleFrame } from '../../../contract/tariffs/tariff-schedule.ts'
import { parseInstant } from '../../../domain/instant.ts'
import type { ScheduleEntry } from '../../../domain/tariff/tariff.ts'
import { askPatiently, CallError } from '../../../platform/call-service.ts'
import { timeZone } from '../../../platform/time-zone.ts'
import type { SourceObject } from '../../domain/source-value.ts'
import { toFormat, type WrittenTariff, type WrittenTariffFormat, writeTariffFile } from '../../domain/write-tariffs.ts'
import type { ExportCounts } from './export-costs.ts'
import { type ExportSource, listAll } from './stored-records.ts'

const instantOf = (text: string | null): number | null => (text === null ? null : (parseInstant(text) ?? null))

const wrongTariff = ({ id }: TariffWire): CallError =>
  new CallError(`The service answered with the tariff ${id}, which this version does not know.`, null, null)

const scheduleOf = (wire: TariffWire, schedule: unknown): readonly ScheduleEntry[] => {
  const frame = scheduleFrame.safeParse(schedule)
  if (!frame.success) throw wrongTariff(wire)
  const read = readTariffTerms({
    direction: wire.direction,
    type: wire.type,
    marketRates: wire.market_rates,
    contractStart: null,
    contractEnd: null,
    schedule: frame.data as TariffTermsInput['schedule'],
  })
  if (!read.ok) throw wrongTariff(wire)
  return read.value.schedule
}

const readTariff = (wire: TariffWire, currencyCode: string): WrittenTariff => {
  const zone = timeZone(wire.timezone)
  const [first, ...later] = wire.versions
  if (zone === null || first === undefined) throw wrongTariff(wire)
  return {
    name: wire.display_name ?? wire.id,
    currencyCode,
    timeZone: zone,
    tariff: {
      id: wire.id,
      direction: wire.direction,
      type: wire.type,
      marketRates: wire.market_rates,
      contractStart: instantOf(wire.contract_start_date),
      contractEnd: instantOf(wire.contract_end_date),
      closedAt: null,
      schedule: scheduleOf(wire, first.schedule),
      versions: later.map(({ effective_from: from, schedule }) => ({
        effectiveFrom: instantOf(from) ?? Number.NEGATIVE_INFINITY,
        schedule: scheduleOf(wire, schedule),
      })),
    },
  }
}

/**
 * Export the tariffs of a location in a format of others, as one text. A tariff that the format cannot express exactly is
 * not written.
 * Source: docs/rules/interchange-tariffs.md #tariffs-out.
 */
export async function* exportTariffs(
  source: ExportSource,
  locationId: string,
  format: WrittenTariffFormat,
  counts: ExportCounts,
): AsyncGenerator<string> {
  const { client, signal } = source
  const path = `/locations/${encodeURIComponent(locationId)}`
  const location = await askPatiently<{ readonly currency_code: string }>(client, 'GET', path, signal)
  const objects: SourceObject[] = []
  for (const { id } of await listAll<{ readonly id: string }>(source, '/tariffs', { location_id: locationId })) {
    const wire = await askPatiently<TariffWire>(client, 'GET', `/tariffs/${id}`, signal)
    const written = toFormat(format, readTariff(wire, location.currency_code))
    if (written.ok) objects.push(...written.value)
    else counts.notExported.push({ id, reason: 'not_expressible', message: written.refusal.message })
  }
  counts.rows = objects.length
  yield `${writeTariffFile(format, objects)}\n`
}
