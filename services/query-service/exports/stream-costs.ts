import { rm, writeFile } from 'node:fs/promises'
import type { intervalCost } from '../../contract/costs/energy-cost.ts'
import type { Outcome, RequestOf } from '../../contract/operation.ts'
import type { TableFormat } from '../../domain/table-format.ts'
import { costRowsSelect } from '../../platform/clickhouse/exports/object-table.ts'
import type { CostDependencies } from '../dependencies.ts'
import { costLinesOf, jsonOf } from './cost-lines.ts'

type CostRequest = RequestOf<typeof intervalCost>

/** Stream the elements of a cost as a table that the engine writes. `calculate` answers the same request as JSON. */
export const streamCosts = async (
  { clickHouse, streams }: CostDependencies,
  request: CostRequest,
  format: TableFormat,
  calculate: (request: CostRequest) => Promise<Outcome<unknown>>,
): Promise<Outcome<never>> => {
  const outcome = await calculate({ ...request, apiVersion: 'current', wantsCsv: false })
  if (!outcome.ok) return outcome
  const { accountId } = request.caller
  const { elements } = costLinesOf(await jsonOf(outcome))
  const write = async (path: string, signal: AbortSignal): Promise<void> => {
    const source = `${path}.lines`
    try {
      await writeFile(source, elements.join(''), { mode: 0o600, signal })
      await clickHouse.files.write(costRowsSelect(source), { path, format }, signal)
    } finally {
      await rm(source, { force: true })
    }
  }
  const opened = await streams.open(accountId, write, request.signal)
  return opened.ok ? { ok: true, serialized: { chunks: opened.value }, table: format } : opened
}
