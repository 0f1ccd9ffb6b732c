import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { orderedServer } from '../http/in-order.ts'

/** Metrics of a process. The label `lane` is the partition of `meter.records.v1`, and `layout` is the API version. */
export type Metrics = ReturnType<typeof createMetrics>

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const rows = [1, 10, 100, 500, 1000, 2500, 5000, 10_000]

const addCounter = <Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Counter<Label> =>
  new Counter({ name: `wattledger_${name}`, help, labelNames: [...labelNames], registers: [registry] })

const addHistogram = <Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
  buckets: readonly number[] = seconds,
): Histogram<Label> =>
  new Histogram({
    name: `wattledger_${name}`,
    help,
    labelNames: [...labelNames],
    buckets: [...buckets],
    registers: [registry],
  })

const addGauge = <Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[],
): Gauge<Label> => new Gauge({ name: `wattledger_${name}`, help, labelNames: [...labelNames], registers: [registry] })

/**
 * Create the metrics of a process. Durations are in seconds.
 * After a partition is read to its end: accepted = stored + superseded + dead_lettered + erased.
 * Replayed messages are not part of this equation, because their records were already counted.
 */
export const createMetrics = () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'wattledger_' })
  measureEventLoop(registry)
  return { registry, ...requestMetrics(registry), ...recordMetrics(registry), ...deliveryMetrics(registry) }
}

const requestMetrics = (registry: Registry) => ({
  requests: addCounter(registry, 'http_requests_total', 'HTTP requests', ['operation', 'status', 'layout']),
  requestSeconds: addHistogram(registry, 'http_request_seconds', 'Duration of HTTP requests', ['operation']),
})

const recordMetrics = (registry: Registry) => ({
  accepted: addCounter(registry, 'records_accepted_total', 'Records that are durable in their partition', ['lane']),
  submittedBytes: addCounter(registry, 'submitted_bytes_total', 'Bytes of submissions after decompression'),
  refused: addCounter(registry, 'records_refused_total', 'Records refused at submission'),
  warned: addCounter(
    registry,
    'records_warned_total',
    'Accepted records with a warning, by its code: implausible_energy, overlapping_records',
    ['code'],
  ),
  partRefuses: addGauge(
    registry,
    'part_refuses',
    '1 if a part of the process refuses its requests, such as metering on a full disk',
    ['part'],
  ),
  stored: addCounter(registry, 'records_stored_total', 'Records written to the cost table', ['lane']),
  unpriced: addCounter(registry, 'records_unpriced_total', 'Rows written without a price'),
  superseded: addCounter(
    registry,
    'records_superseded_total',
    'Records replaced by a later record of the same identity in the same step',
    ['lane'],
  ),
  deadLettered: addCounter(registry, 'records_dead_lettered_total', 'Records moved to the dead letters', ['lane']),
  erased: addCounter(registry, 'records_erased_total', 'Records not stored because their object is erased', ['lane']),
  replayed: addCounter(
    registry,
    'records_replayed_total',
    'Records of replayed dead letters, by outcome: handled, dead_lettered',
    ['lane', 'outcome'],
  ),
  messagesFailed: addCounter(
    registry,
    'messages_failed_total',
    'Whole messages moved to the dead letters, by kind: order, readings, unreadable',
    ['lane', 'kind'],
  ),
  visibleLag: addHistogram(registry, 'visible_lag_seconds', 'Time from accepted to stored'),
  stepSeconds: addHistogram(registry, 'worker_step_seconds', 'Duration of a step of the cost worker', ['phase']),
  stepRows: addHistogram(registry, 'worker_step_rows', 'Rows of a step of the cost worker', [], rows),
})

const deliveryMetrics = (registry: Registry) => ({
  eventsPublished: addCounter(registry, 'events_published_total', 'Events written to the webhook topic'),
  webhookAttempts: addCounter(registry, 'webhook_attempts_total', 'Webhook delivery attempts', ['outcome']),
  webhookLag: addHistogram(
    registry,
    'webhook_first_attempt_seconds',
    'Time from an event to the end of its first delivery attempt',
  ),
  marketFetches: addCounter(
    registry,
    'market_fetches_total',
    'Attempts to fetch market prices, by outcome: prices, nothing, failed',
    ['feed', 'outcome'],
  ),
  marketLastSuccess: addGauge(
    registry,
    'market_last_success_timestamp_seconds',
    'Last time at which a market source had all due prices; 0: never',
    ['market', 'area'],
  ),
  marketKnownUntil: addGauge(
    registry,
    'market_known_until_timestamp_seconds',
    'End of the last published price of a market source; 0: none',
    ['market', 'area'],
  ),
})

/** Interval between two samples of the event loop in ms. Shorter turns are not seen. */
const sampleIntervalMs = 10
const windowSteps = 12
const defaultWindowMs = 60_000

/**
 * Watch the event loop of this process.
 * `longestTurnMs` returns the longest turn of the last `windowMs`, or up to a twelfth more.
 * The process serves no other request during a turn. A turn can be up to 10 ms longer than reported.
 * A read does not reset the value, so that several readers see the same turn.
 */
export const watchEventLoop = (windowMs = defaultWindowMs): Disposable & { readonly longestTurnMs: () => number } => {
  /** Longest turn of each step of the window. The last step is still running. */
  const longestTurnsMs = [0]
  let sampledAt = performance.now()
  let stepAt = sampledAt
  // Node's histogram of delays does not count the turn in which it is reset, and that turn may be the longest one.
  const timer = setInterval(() => {
    const now = performance.now()
    // On a busy machine several steps can pass between two samples.
    for (; now - stepAt >= windowMs / windowSteps; stepAt += windowMs / windowSteps) {
      longestTurnsMs.push(0)
      if (longestTurnsMs.length > windowSteps + 1) longestTurnsMs.shift()
    }
    longestTurnsMs.push(Math.max(longestTurnsMs.pop() ?? 0, now - sampledAt - sampleIntervalMs))
    sampledAt = now
  }, sampleIntervalMs)
  timer.unref()
  return { longestTurnMs: () => Math.max(...longestTurnsMs), [Symbol.dispose]: () => clearInterval(timer) }
}

/** Add the longest turn of the event loop to the metrics. */
const measureEventLoop = (registry: Registry): void => {
  const eventLoop = watchEventLoop()
  const gauge: Gauge = new Gauge({
    name: 'wattledger_event_loop_longest_turn_seconds',
    help: 'Longest turn of the event loop in the last 60 s. The process serves no other request during a turn.',
    registers: [registry],
    collect: () => gauge.set(eventLoop.longestTurnMs() / 1_000),
  })
}

/** Add the number of unread messages of each partition. It is queried at each scrape. A failed query gives no value. */
export const measureUnread = (
  { registry }: Metrics,
  partitions: number,
  unreadOf: (partition: number) => Promise<number>,
): void => {
  const unread = new Gauge({
    name: 'wattledger_lane_unread_messages',
    help: 'Messages of a partition that are not committed yet',
    labelNames: ['lane'],
    registers: [registry],
    collect: async () => {
      unread.reset()
      const results = await Promise.allSettled(
        Array.from({ length: partitions }, (_, partition) => unreadOf(partition)),
      )
      for (const [partition, answer] of results.entries())
        if (answer.status === 'fulfilled') unread.set({ lane: String(partition) }, answer.value)
    },
  })
}

/** Serve the metrics to Prometheus on their own port. Port 0 chooses a free port. Throws if the port is in use. */
export const serveMetrics = async (
  { registry }: Metrics,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<AsyncDisposable & { readonly port: number }> => {
  const server = orderedServer({}, () => (request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    registry.metrics().then(
      text =>
        response
          .writeHead(200, { 'Content-Type': registry.contentType, 'X-Content-Type-Options': 'nosniff' })
          .end(text),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
