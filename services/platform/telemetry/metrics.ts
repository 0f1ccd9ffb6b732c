import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { orderedServer } from '../http/in-order.ts'

/** Every figure that the system tells of itself. Lanes are partitions of `meter.records.v1`. */
export type Metrics = ReturnType<typeof createMetrics>

/**
 * Make the catalogue of metrics: counters only rise, durations are in seconds.
 * The ledger of a lane balances once it is read to its end: accepted = stored + superseded + dead_lettered + erased. Messages put back into
 * it are no part of that: what they hold is counted as it was handled first.
 */
export const createMetrics = () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'wattledger_' })
  const registers = [registry]
  measureEventLoop(registry)
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: `wattledger_${name}`, help, labelNames: [...labelNames], registers })
  const histogram = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    buckets: readonly number[],
  ) =>
    new Histogram({ name: `wattledger_${name}`, help, labelNames: [...labelNames], buckets: [...buckets], registers })
  const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
  return {
    registry,
    requests: counter('http_requests_total', 'Requests answered', ['operation', 'status', 'layout']),
    requestSeconds: histogram('http_request_seconds', 'Time to answer', ['operation'], seconds),
    accepted: counter('records_accepted_total', 'Records durable in their lane', ['lane']),
    submittedBytes: counter('submitted_bytes_total', 'Bytes of submissions, inflated', []),
    refused: counter('records_refused_total', 'Records refused at submission', []),
    stored: counter('records_stored_total', 'Records written to the cost table', ['lane']),
    unpriced: counter('records_unpriced_total', 'Rows written without a price', []),
    superseded: counter(
      'records_superseded_total',
      'Records replaced by a later one of the same identity in the same step',
      ['lane'],
    ),
    deadLettered: counter('records_dead_lettered_total', 'Records put aside as poison', ['lane']),
    erased: counter('records_erased_total', 'Records that were not stored because their object is erased', ['lane']),
    replayed: counter(
      'records_replayed_total',
      'Records read again from replayed dead letters: handled, dead_lettered',
      ['lane', 'outcome'],
    ),
    messagesFailed: counter('messages_failed_total', 'Messages put aside as a whole: order, readings, unreadable', [
      'lane',
      'kind',
    ]),
    eventsPublished: counter('events_published_total', 'Events put into the topic of webhooks', []),
    webhookAttempts: counter('webhook_attempts_total', 'Attempts to deliver an event', ['outcome']),
    webhookLag: histogram(
      'webhook_first_attempt_seconds',
      'From an event to the end of its first attempt',
      [],
      seconds,
    ),
    visibleLag: histogram('visible_lag_seconds', 'From accepted to stored', [], seconds),
    stepSeconds: histogram('worker_step_seconds', 'One step of the cost worker', ['phase'], seconds),
    stepRows: histogram('worker_step_rows', 'Rows of one step', [], [1, 10, 100, 500, 1000, 2500, 5000, 10_000]),
    marketFetches: counter('market_fetches_total', 'Attempts to fetch market prices: prices, nothing, failed', [
      'feed',
      'outcome',
    ]),
    marketLastSuccess: new Gauge({
      name: 'wattledger_market_last_success_timestamp_seconds',
      help: 'When a market source last had all prices that were due; 0: never',
      labelNames: ['market', 'area'],
      registers,
    }),
    marketKnownUntil: new Gauge({
      name: 'wattledger_market_known_until_timestamp_seconds',
      help: 'End of the last published price of a market source; 0: none',
      labelNames: ['market', 'area'],
      registers,
    }),
  }
}

/** Interval between two samples of the event loop in ms. Shorter turns are not seen. */
const sampleIntervalMs = 10
const windowSteps = 12
const defaultWindowMs = 60_000

/**
 * Watch the event loop of this process. `longestTurnMs` returns the longest turn of the last `windowMs`, or up to a twelfth more.
 * The process serves no other request during a turn. A turn can be up to 10 ms longer than reported.
 * A read does not reset the value, so that several readers see the same turn.
 */
export const watchEventLoop = (windowMs = defaultWindowMs): Disposable & { readonly longestTurnMs: () => number } => {
  /** Longest turn of each step of the window. The last step is still running. */
  const longestTurns = [0]
  let sampledAt = performance.now()
  let stepAt = sampledAt
  // Node's histogram of delays does not count the turn in which it is reset, and that turn may be the longest one.
  const timer = setInterval(() => {
    const now = performance.now()
    // On a busy machine several steps can pass between two samples.
    for (; now - stepAt >= windowMs / windowSteps; stepAt += windowMs / windowSteps) {
      longestTurns.push(0)
      if (longestTurns.length > windowSteps + 1) longestTurns.shift()
    }
    longestTurns.push(Math.max(longestTurns.pop() ?? 0, now - sampledAt - sampleIntervalMs))
    sampledAt = now
  }, sampleIntervalMs)
  timer.unref()
  return { longestTurnMs: () => Math.max(...longestTurns), [Symbol.dispose]: () => clearInterval(timer) }
}

/** Add the longest turn of the event loop to the metrics. */
const measureEventLoop = (registry: Registry): void => {
  const eventLoop = watchEventLoop()
  const gauge: Gauge = new Gauge({
    name: 'wattledger_event_loop_longest_turn_seconds',
    help: 'Longest turn of the event loop in the last 60 s: nothing else was served meanwhile',
    registers: [registry],
    collect: () => gauge.set(eventLoop.longestTurnMs() / 1_000),
  })
}

/** Ask how many messages of each lane are not yet committed whenever the metrics are read; without an answer there is no value. */
export const measureUnread = (
  { registry }: Metrics,
  partitions: number,
  unreadOf: (partition: number) => Promise<number>,
): void => {
  const unread = new Gauge({
    name: 'wattledger_lane_unread_messages',
    help: 'Messages not yet committed',
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

/** Serve the metrics to Prometheus on a port of their own; port 0 takes a free one. Throws when the port is taken. */
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
