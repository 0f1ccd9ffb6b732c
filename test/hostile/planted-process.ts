/**
 * Small service with planted faults on the product's HTTP layer. One operation blocks for a given time, one is
 * quadratic in the size of its body, and one has no fault. The process sends its port to its parent.
 */
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { type Caller, defineOperation, sameRoute } from '../../services/contract/operation.ts'
import { noReferenceIds } from '../../services/domain/reference.ts'
import { accepted, refused } from '../../services/domain/refusal.ts'
import { createApp } from '../../services/platform/http/app.ts'
import { bind, type Ports } from '../../services/platform/http/binding.ts'
import { listen } from '../../services/platform/http/listen.ts'
import { healthRoutes } from '../../services/platform/http/static-routes.ts'
import { createMetrics, serveMetrics } from '../../services/platform/telemetry/metrics.ts'

const answer = { name: 'Planted', shape: z.object({}).loose() }
const base = {
  summary: 'Planted',
  description: 'Planted.',
  tag: 'Planted',
  access: 'open',
  answer,
  status: 200,
} as const
const planted = (id: string, path: string) =>
  defineOperation({ ...base, id, routes: sameRoute('POST', path), body: 'raw', bodyLimit: 2 ** 24 })
const read = defineOperation({ ...base, id: 'planted_read', routes: sameRoute('GET', '/planted/{id}') })

/** Use some CPU time in one turn of the event loop. */
const block = (ms: number): void => {
  const before = process.threadCpuUsage()
  for (let usedMs = 0; usedMs < ms; ) {
    const { user, system } = process.threadCpuUsage(before)
    usedMs = (user + system) / 1_000
  }
}

/** Count the pairs of equal bytes in quadratic time, in short turns of the event loop. */
const countPairs = async (bytes: Uint8Array): Promise<number> => {
  let pairs = 0
  for (const [at, one] of bytes.entries()) {
    for (const other of bytes) if (one === other) pairs += 1
    if (at % 128 === 0) await setImmediate()
  }
  return pairs
}

const countSpaces = (bytes: Uint8Array): number => bytes.reduce((spaces, byte) => spaces + (byte === 32 ? 1 : 0), 0)

const ports: Ports = {
  authenticate: async () => accepted({ accountId: 'acc_1' } as Caller),
  verifyKey: async () => refused('bad_credentials', 'Keys are not supported.'),
  authenticateOperator: () => null,
  findReferences: async () => noReferenceIds,
  idempotency: { begin: async () => ({ state: 'new' }), finish: async () => undefined, abandon: async () => undefined },
  now: () => 0,
  elapsed: () => performance.now(),
  newRequestId: () => 'req_1',
  log: { warn: () => undefined, error: () => undefined },
  observe: () => undefined,
}

const bindings = [
  bind(planted('planted_block', '/planted/block'), async ({ body }) => {
    block(body.bytes.length)
    return accepted({})
  }),
  bind(planted('planted_square', '/planted/square'), async ({ body }) =>
    accepted({ pairs: await countPairs(body.bytes) }),
  ),
  bind(planted('planted_line', '/planted/line'), async ({ body }) => accepted({ spaces: countSpaces(body.bytes) })),
  bind(read, async ({ id }) => accepted({ id })),
]

const metrics = await serveMetrics(createMetrics(), { host: '127.0.0.1', port: 0 })
const app = createApp(bindings, healthRoutes([], []), ports)
const { port } = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
process.on('disconnect', () => process.exit(0))
process.send?.({ port, metricsPort: metrics.port })
