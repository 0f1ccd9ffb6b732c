import type { Tenant } from '../../../domain/tenant.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { type RowSelection, selectionConditions } from '../meter-cost/meter-cost-pages.ts'
import { meterCostVersions, readSettings } from '../meter-cost/meter-cost-reads.ts'

/** Maximum number of periods of a table. */
const maxPeriods = 120
/** Maximum number of ids in the conditions of all periods together: the engine limits the size of a statement. */
const maxIds = 5_000

/**
 * Return the starts in ms of the UTC months in which a selection has rows, in order. A month whose rows arrive later is
 * missing.
 */
export const monthsWithRows = async (
  db: Pick<ClickHouse, 'rows'>,
  tenant: Tenant,
  selection: RowSelection,
): Promise<readonly number[]> => {
  const condition = selectionConditions(selection).join(' AND ') || 'true'
  const months = await db.rows(
    `SELECT DISTINCT toYYYYMM(start_time) AS month ${meterCostVersions(tenant, condition)} ORDER BY month ${readSettings}`,
    tenant,
  )
  return months.map(([month]) => Date.UTC(Math.floor(Number(month) / 100), (Number(month) % 100) - 1))
}

/**
 * Cut a selection at the starts of months. The periods are contiguous and in order, and they cover the whole selection,
 * also months that are not listed. Each has one month of the list, or several if there are too many.
 */
export const periodsOf = (selection: RowSelection, months: readonly number[]): readonly RowSelection[] => {
  const ids = (selection.locationIds?.length ?? 0) + (selection.deviceIds?.length ?? 0)
  const count = Math.max(1, Math.min(maxPeriods, Math.floor(maxIds / Math.max(1, ids))))
  const step = Math.ceil(months.length / count)
  const { from, to } = selection
  const cuts = months.filter(
    (month, index) =>
      index > 0 && index % step === 0 && month > (from ?? Number.NEGATIVE_INFINITY) && (to === null || month < to),
  )
  return [from, ...cuts].map((start, index) => ({ ...selection, from: start, to: cuts[index] ?? to }))
}
