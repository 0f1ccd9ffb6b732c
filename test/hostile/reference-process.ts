/**
 * Server that only answers. A delay of its answers is caused by the machine. The process sends its port to its parent.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer((_, response) => response.end('{}'))
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit(0))
