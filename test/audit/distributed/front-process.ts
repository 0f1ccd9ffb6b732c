import { type EngineFault, openClickHouseFront } from '../../support/stores/clickhouse-front.ts'

// Process that serves ClickHouse over HTTP and can be killed. It sends its address and receives faults as messages.
// The process exits when its parent exits.
const [folder = '', port = '0'] = process.argv.slice(2)
const front = await openClickHouseFront({ folder, port: Number(port) })
process.on('message', (fault: EngineFault) => {
  front.fault = fault
})
process.once('disconnect', () => void front[Symbol.asyncDispose]().then(() => process.exit(0)))
process.send?.(front.url)
