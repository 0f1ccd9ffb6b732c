import { type EngineFault, openClickHouseFront } from '../../support/stores/clickhouse-front.ts'

// The engine behind HTTP, in a process that can be killed: takes moods as messages, sends its address, ends with whoever forked it.
const [folder = '', port = '0'] = process.argv.slice(2)
const front = await openClickHouseFront({ folder, port: Number(port) })
process.on('message', (fault: EngineFault) => {
  front.fault = fault
})
process.once('disconnect', () => void front[Symbol.asyncDispose]().then(() => process.exit(0)))
process.send?.(front.url)
