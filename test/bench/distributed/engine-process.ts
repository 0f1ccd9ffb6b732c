import { openClickHouseFront } from '../../support/stores/clickhouse-front.ts'

/**
 * Process that serves ClickHouse over HTTP. It sends its address, and then answers each message with its CPU seconds.
 * The process exits when its parent exits.
 */
const front = await openClickHouseFront()
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuSeconds: (user + system) / 1e6 })
})
process.once('disconnect', () => void front[Symbol.asyncDispose]().then(() => process.exit(0)))
process.send?.({ url: front.url })
