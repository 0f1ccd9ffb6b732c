import { costOfInterval } from '../../support/exact/exact-answers.ts'
import { type Flow, flows } from '../../support/history/history.ts'
import { decimal } from '../../support/ledger/exact-decimal.ts'
import { bucketOf } from '../../support/oracle/buckets.ts'
import type { OracleCost } from '../../support/oracle/cost.ts'
import { fractionText, isConfidence } from '../../support/oracle/exact.ts'
import { monthStart } from '../../support/oracle/local-clock.ts'
import type { Client } from '../../support/system/client.ts'
import { maxLengthMs } from '../history/generate-records.ts'
import { year } from '../history/plan-tariffs.ts'

/** Sums that differ from the sums of the records. `months` is the number of compared sums. */
export type SumsVerdict = {
  readonly months: number
  readonly deviations: readonly { readonly month: string; readonly expected: string; readonly found: string }[]
}

const dayMs = 86_400_000
const interval = { start: year.start - 2 * dayMs, end: year.end + maxLengthMs + 2 * dayMs }

const edgesOf = (zone: string): readonly number[] => {
  const months = Array.from({ length: 16 }, (_, index) => monthStart(zone, Date.UTC(2024, 11 + index, 15)))
  return [interval.start, ...months.filter(at => interval.start < at && at < interval.end), interval.end]
}

const instant = (at: number): string => new Date(at).toISOString()

const verifyFlow = async (
  client: Client,
  location: ZonedLocation,
  costs: readonly OracleCost[],
  { energyFlowDirection: flow, tariffDirection: direction }: Flow,
) => {
  const own = costs.filter(({ record }) => record.energyFlowDirection === flow && record.tariffDirection === direction)
  const query = `tariff_direction=${direction}&energy_flow_direction=${flow}&aggregation=MONTH&include_devices=true`
  const { data } = await costOfInterval(
    client,
    location.locationId,
    [instant(interval.start), instant(interval.end)],
    query,
  )
  const edges = edgesOf(location.zone)
  const deviations = edges.slice(0, -1).flatMap((start, index) => {
    const bucket = bucketOf(own, start, edges[index + 1] ?? interval.end)
    const element = data[index]
    const given = element?.tariff.cost.confidence ?? ''
    const confidence = isConfidence(Number(given), bucket.confidence) ? given : fractionText(bucket.confidence)
    const parts = [
      ...[decimal(bucket.energy, 6), decimal(bucket.cost, 9), confidence],
      ...[String(bucket.unpricedRecords), decimal(bucket.unpricedEnergy, 6), String(bucket.records)],
      ...[decimal(bucket.estimatedEnergy, 6), decimal(bucket.provisionalEnergy, 6)],
    ]
    const found = [
      ...[element?.energy.value, element?.tariff.cost.value, given],
      ...[element?.unpriced_records ?? '0', element?.unpriced_energy?.value ?? '0', element?.records],
      ...[element?.estimated_energy.value, element?.provisional_energy.value],
    ]
    const month = `${flow} ${direction} from ${instant(start)}`
    const isStart = element !== undefined && Date.parse(element.start_time) === start
    const text = ([energy, cost, meanConfidence, unpriced, unpricedEnergy, count, ...uncertain]: readonly unknown[]) =>
      `${energy} Wh, ${cost}, confidence ${meanConfidence}, ${count} records, ` +
      `${unpriced} unpriced with ${unpricedEnergy} Wh, estimated and provisional Wh: ${uncertain}`
    return isStart && text(parts) === text(found) ? [] : [{ month, expected: text(parts), found: text(found) }]
  })
  return { months: edges.length - 1, deviations }
}

type ZonedLocation = { readonly locationId: string; readonly zone: string }

/** Compare the monthly costs of a location with the costs of its records, for each flow. */
export const verifySums = async (
  client: Client,
  location: ZonedLocation,
  costs: readonly OracleCost[],
): Promise<SumsVerdict> => {
  const verdicts: SumsVerdict[] = []
  for (const flow of Object.values(flows)) verdicts.push(await verifyFlow(client, location, costs, flow))
  return {
    months: verdicts.reduce((sum, { months }) => sum + months, 0),
    deviations: verdicts.flatMap(({ deviations }) => deviations),
  }
}
