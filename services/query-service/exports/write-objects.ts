import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { intervalCost } from '../../contract/costs/energy-cost.ts'
import type { ExportInput } from '../../contract/exports/export.ts'
import type { Caller, Operation, RequestOf } from '../../contract/operation.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  costColumns,
  costRowsSelect,
  costSumsSelect,
  objectColumns,
  objectCountSelect,
  objectRowsSelect,
} from '../../platform/clickhouse/exports/object-table.ts'
import type { Binding } from '../../platform/http/binding.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { finalStatementPage } from '../../platform/postgres/exports/final-statements.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { costLinesOf, jsonOf } from './cost-lines.ts'
import type { WrittenTable } from './write-records.ts'

/** Operations whose answers an export writes: costs of a period, and the lists of tariffs and events. */
export type ExportedOperations = {
  readonly intervalCost: Binding
  readonly tariffList: Binding
  readonly eventList: Binding
}

/** Stores and operations of the objects of an export. */
export type ObjectDependencies = {
  readonly database: Database
  readonly clickHouse: ClickHouse
  readonly operations: ExportedOperations
}

/** The export to write: who requested it, and what. */
export type ObjectOrder = {
  readonly caller: Caller
  readonly at: number
  readonly input: ExportInput
  readonly path: string
  readonly signal: AbortSignal
}

/** Ask an operation of this service in the current API version. Numbers of the answer keep their text. */
const ask = async (
  { run }: Binding,
  { caller, at, signal }: ObjectOrder,
  request: Pick<RequestOf<Operation>, 'id' | 'query' | 'body'>,
): Promise<Result<unknown>> => {
  const outcome = await run({
    ...request,
    caller,
    at,
    signal,
    requestId: 'export',
    apiVersion: 'current',
    parameters: { id: request.id },
    idempotency: null,
  } as RequestOf<Operation>)
  if (!outcome.ok) return { ok: false, refusal: outcome.refusal }
  return accepted(await jsonOf(outcome))
}

type WireObject = { readonly id: string }
type WirePage = { readonly has_more: boolean; readonly data: readonly WireObject[] }

/** Read the objects of a list, page by page. Throws RangeError if a page is refused. */
async function* listed(binding: Binding, order: ObjectOrder, query: object): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const paging = { limit: 100, ...(after === undefined ? {} : { starting_after: after }) }
    const page = await ask(binding, order, {
      id: '',
      query: { ...query, ...paging } as never,
      body: undefined as never,
    })
    // The object of the cursor was deleted meanwhile: the list ends there.
    if (!page.ok) throw new RangeError(page.refusal.message)
    const { has_more: hasMore, data } = page.value as WirePage
    for (const one of data) if (isInPeriod(one, order.input)) yield `${JSON.stringify(one)}\n`
    after = data.at(-1)?.id
    if (!hasMore || after === undefined) return
  }
}

/** Return whether a tariff applies in the period. Other objects have no contract. */
const isInPeriod = (one: object, { start_time: start, end_time: end }: ExportInput): boolean => {
  const { contract_start_date: from = null, contract_end_date: to = null } = one as {
    readonly contract_start_date?: string | null
    readonly contract_end_date?: string | null
  }
  return (from === null || Date.parse(from) < end.at) && (to === null || Date.parse(to) > start.at)
}

async function* statements({ database }: ObjectDependencies, order: ObjectOrder): AsyncGenerator<string> {
  const { input, caller } = order
  const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
  const selection = { locationId: input.location_id ?? null, from: input.start_time.at, to: input.end_time.at }
  for (let after = ''; ; ) {
    const page = await withTenant(database, tenant, transaction => finalStatementPage(transaction, selection, after))
    for (const { answer } of page) yield `${answer}\n`
    const last = page.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

const linesOf = (dependencies: ObjectDependencies, order: ObjectOrder): AsyncGenerator<string> => {
  const { input } = order
  const { tariffList, eventList } = dependencies.operations
  const location = input.location_id
  if (input.kind === 'statements') return statements(dependencies, order)
  if (input.kind === 'tariffs')
    return listed(tariffList, order, location === undefined ? {} : { location_id: location })
  const period = { start_time: input.start_time, end_time: input.end_time }
  return listed(eventList, order, { ...period, ...(location === undefined ? {} : { object_id: location }) })
}

/** Write the objects of an export. NDJSON has the objects; the engine writes the other formats from them. */
export const writeObjects = async (
  dependencies: ObjectDependencies,
  order: ObjectOrder,
): Promise<Result<WrittenTable>> => {
  const { files } = dependencies.clickHouse
  const { path, signal, input } = order
  const isFinal = input.format === 'ndjson'
  const lines = isFinal ? path : `${path}.lines`
  await pipeline(Readable.from(linesOf(dependencies, order)), createWriteStream(lines, { mode: 0o600 }), { signal })
  if (!isFinal) {
    await files.write(objectRowsSelect(lines), { path, format: input.format }, signal)
    await rm(lines)
  }
  const [row] = await files.rows(objectCountSelect(path, input.format), signal)
  return accepted({
    rows: Number(row?.[0]),
    sums: { energy_wh: null, cost: {}, unpriced_records: 0 },
    columns: isFinal ? [] : objectColumns,
  })
}

/** Write the costs of an export: the elements of POST /costs/interval/{id}. The engine writes the format. */
export const writeCosts = async (
  { clickHouse: { files }, operations }: ObjectDependencies,
  order: ObjectOrder,
): Promise<Result<WrittenTable>> => {
  const { input, caller, path, signal } = order
  const { location_id: location, device_id: device, customer_id: customer } = input
  const query: RequestOf<typeof intervalCost>['query'] = {
    tariff_direction: input.tariff_direction ?? 'IMPORT',
    aggregation: input.aggregation ?? 'DAY',
    ...(input.currency_code === undefined ? {} : { currency_code: input.currency_code }),
    include_tariff: true,
    include_carbon: false,
    include_devices: 'auto',
  }
  const body = { start_time: input.start_time, end_time: input.end_time }
  const id = location ?? device ?? customer ?? caller.accountId
  const answer = await ask(operations.intervalCost, order, { id, query: query as never, body: body as never })
  if (!answer.ok) return answer
  const { currency, elements } = costLinesOf(answer.value)
  const lines = `${path}.lines`
  await pipeline(Readable.from(elements), createWriteStream(lines, { mode: 0o600 }), { signal })
  await files.write(costRowsSelect(lines), { path, format: input.format }, signal)
  await rm(lines)
  const [row] = await files.rows(costSumsSelect(path, input.format), signal)
  const [rows, energy, unpriced, cost] = row as [string, string, string, string]
  return accepted({
    rows: Number(rows),
    sums: { energy_wh: energy, cost: { [currency]: cost }, unpriced_records: Number(unpriced) },
    columns: costColumns,
  })
}
