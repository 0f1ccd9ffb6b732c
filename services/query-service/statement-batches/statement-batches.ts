import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import {
  maxListedFailures,
  statementBatchCreate,
  statementBatchExport,
  statementBatchRetrieve,
  statementBatchStop,
  statementBatchToWire,
} from '../../contract/statements/statement-batch.ts'
import { readStatementRequest, statementRequestText } from '../../contract/statements/statement-request.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { StoredBatch } from '../../domain/statement/statement-batch.ts'
import { maxBatchLocations } from '../../domain/statement/statement-batch.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { newId } from '../../platform/ids/new-id.ts'
import type { Loop } from '../../platform/jobs/loop.ts'
import {
  type BatchSelection,
  createBatch,
  findBatch,
  locationsOfBatch,
  readExportPage,
  readFailures,
  stopBatch,
} from '../../platform/postgres/statements/statement-batches.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { change, tenantOf } from '../change.ts'
import { runWork } from '../work-thread/run-work.ts'
import type { BatchDependencies } from './batch-dependencies.ts'

const decompress = promisify(zstdDecompress)

const notFound = refused('not_found', 'No batch has this id. Batches are kept for 30 days')

const selectionOf = ({
  object_ids: locationIds,
  customer_id: customerId,
  plan_id: planId,
}: RequestOf<typeof statementBatchCreate>['body']): BatchSelection => {
  if (locationIds !== undefined) return { locationIds }
  if (planId !== undefined) return { planId }
  return customerId === undefined ? { all: true } : { customerId }
}

const startBatch = async (
  dependencies: BatchDependencies,
  { wake }: Pick<Loop, 'wake'>,
  request: RequestOf<typeof statementBatchCreate>,
): Promise<Result<AnswerOf<typeof statementBatchCreate>>> => {
  const { body, at, caller } = request
  const read = readStatementRequest(body)
  if (!read.ok) return read
  const order = {
    request: statementRequestText(read.value.request),
    finalises: body.finalise === true,
    allowsGaps: body.allow_incomplete === true,
    actor: caller.keyId,
  }
  const created = await change(dependencies, statementBatchCreate, request, async transaction => {
    const locations = await locationsOfBatch(transaction, selectionOf(body), read.value.request)
    if (!locations.ok) return locations
    if (locations.value.length > maxBatchLocations) {
      const message = `A batch must have at most ${maxBatchLocations} locations. Send several batches with object_ids or customer_id`
      return refused('too_many_locations', message)
    }
    const batch = await createBatch(transaction, newId('statementBatch', at), order, locations.value, at)
    if (!batch.ok) return batch
    const { id, total } = batch.value
    return accepted({
      value: statementBatchToWire({ ...batch.value, failures: [] }),
      events: [],
      audit: [{ action: 'statement_batch.create', objectId: id, detail: { total, finalise: order.finalises } }],
    })
  })
  if (created.ok) wake()
  return created
}

const showBatch = async (transaction: TenantTransaction, batch: StoredBatch) => {
  const failures = batch.failed === 0 ? [] : await readFailures(transaction, batch.id, maxListedFailures)
  return statementBatchToWire({ ...batch, failures })
}

const retrieveBatch = (
  { database }: BatchDependencies,
  request: RequestOf<typeof statementBatchRetrieve>,
): Promise<Result<AnswerOf<typeof statementBatchRetrieve>>> =>
  withTenant(database, tenantOf(request), async transaction => {
    const batch = await findBatch(transaction, request.id, request.at)
    return batch === null ? notFound : accepted(await showBatch(transaction, batch))
  })

/** Read the statements of a batch as JSON lines, one page at a time. */
async function* readLines(
  { database }: BatchDependencies,
  request: RequestOf<typeof statementBatchExport>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let after = -1; ; ) {
    const page = await withTenant(database, tenantOf(request), transaction =>
      readExportPage(transaction, request.id, after),
    )
    if (page === null) return
    after = page.firstIndex
    const lines = await decompress(page.answers)
    if (lines.length > 0) yield new Uint8Array(lines)
  }
}

/** Read the statements of a batch as a table, one page at a time. */
async function* readTable(
  dependencies: BatchDependencies,
  request: RequestOf<typeof statementBatchExport>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let hasHeader = true
  for await (const bytes of readLines(dependencies, request)) {
    const work = await runWork(dependencies.thread, {
      name: 'statementLinesTable',
      input: { bytes, hasHeader },
      isSmall: false,
      bytes: bytes.length,
      account: request.caller.accountId,
      signal: request.signal,
    })
    if (!work.ok) throw new Error('The table of a batch cannot be written now.')
    const { answer } = work.value
    if ('bytes' in answer) yield answer.bytes
    else yield* answer.chunks
    hasHeader = false
  }
}

const exportBatch = async (
  dependencies: BatchDependencies,
  request: RequestOf<typeof statementBatchExport>,
): Promise<Outcome<AnswerOf<typeof statementBatchExport>>> => {
  const batch = await withTenant(dependencies.database, tenantOf(request), transaction =>
    findBatch(transaction, request.id, request.at),
  )
  if (batch === null) return notFound
  if (batch.status !== 'DONE') {
    const advice = batch.status === 'RUNNING' ? 'Wait until its status is DONE' : 'Start a new batch'
    return refused('batch_not_done', `The batch is ${batch.status}, so it has no export. ${advice}`)
  }
  const isTable = request.wantsCsv === true
  const chunks = isTable ? readTable(dependencies, request) : readLines(dependencies, request)
  return { ok: true, serialized: { chunks }, isTable }
}

const endBatch = (
  dependencies: BatchDependencies,
  request: RequestOf<typeof statementBatchStop>,
): Promise<Result<AnswerOf<typeof statementBatchStop>>> =>
  change(dependencies, statementBatchStop, request, async transaction => {
    const { id, at } = request
    if (!(await stopBatch(transaction, id, at))) return notFound
    return accepted({
      value: { message: 'Accepted' as const },
      events: [],
      audit: [{ action: 'statement_batch.stop', objectId: id, detail: {} }],
    })
  })

/** Bind the operations on batches of statements. Source: docs/rules/statement-batches.md #states, #export. */
export const statementBatchOperations = (
  dependencies: BatchDependencies,
  work: Pick<Loop, 'wake'>,
): readonly Binding[] => [
  bind(statementBatchCreate, request => startBatch(dependencies, work, request)),
  bind(statementBatchRetrieve, request => retrieveBatch(dependencies, request)),
  bind(
    statementBatchExport,
    request => exportBatch(dependencies, request),
    text => text,
  ),
  bind(statementBatchStop, request => endBatch(dependencies, request)),
]
