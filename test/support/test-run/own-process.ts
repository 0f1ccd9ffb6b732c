/**
 * Unit tests with a process of their own: most of them open a store. All others share the process of a worker, which loads
 * modules once.
 */
export const ownProcess: string[] = [
  'test/unit/*.test.ts',
  'test/unit/{background,cost-worker,ingest-gateway,webhook-worker}/**/*.test.ts',
  'test/unit/platform/{clickhouse,jobs,log,postgres,pricing-cache,work-thread}/**/*.test.ts',
  'test/unit/query-service/{costs,exports,statements}/**/*.test.ts',
  // They change the modules, the limits or the environment of their process.
  'test/unit/platform/clock.test.ts',
  'test/unit/platform/webhook-client/webhook-http-client.test.ts',
  'test/unit/reading-import/read-bounds.test.ts',
]
