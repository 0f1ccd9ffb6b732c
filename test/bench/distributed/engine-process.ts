import { openClickHouseFront } from '../../support/stores/clickhouse-front.ts'

/**
 * The engine behind HTTP in a process of its own. Sends its address, then its CPU seconds for every message it gets; ends with the process
 * that forked it.
 */
const front = await openClickHouseFront()
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuSeconds: (user + system) / 1e6 })
})
process.once('disconnect', () => void front[Symbol.asyncDispose]().then(() => process.exit(0)))
process.send?.({ url: front.url })
