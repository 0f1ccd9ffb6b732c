import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { bodiesOf, createFleet, type Fleet } from '../../bench/fleet/fleet.ts'
import { endMark, startMark } from '../../bench/load.ts'
import { allocatedBytes } from '../../support/cpu/allocated-bytes.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { tokenOf } from '../../support/registry/accounts.ts'

const [rounds, singleSubmissions, largeSubmissions, recordsOfLarge, connections] = [6, 600, 20, 500, 8]
const slotMs = 900_000
let slot = Date.parse('2025-01-01T00:00:00Z')

const stamp = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

/** Create the bytes of requests before the count. Each has its own quarter hour. */
const requestsOf = (fixture: PartitionFixture, token: string, fleet: Fleet, recordsPerBody: number, count: number) => {
  const { host } = new URL(fixture.sandbox.base_url)
  const bodies = bodiesOf(fleet, recordsPerBody)
  return Array.from({ length: count }, (_, index) => {
    if (index % bodies.length === 0) slot += slotMs
    const body = (bodies[index % bodies.length] ?? '')
      .replaceAll(startMark, stamp(slot))
      .replaceAll(endMark, stamp(slot + slotMs))
    const head = `PUT /meters/interval HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    return Buffer.from(head + body, 'latin1')
  })
}

const okLine = Buffer.from('HTTP/1.1 200')

/** Send requests over one connection, each after the begin of the answer before. */
const sendAll = (socket: Socket, requests: Iterator<Buffer>): Promise<void> =>
  new Promise((resolve, reject) => {
    const send = (): void => {
      const { done, value } = requests.next()
      if (done === true) resolve()
      else socket.write(value)
    }
    socket.on('error', reject).on('close', () => reject(new Error('The connection was closed.')))
    socket.on('data', (answer: Buffer) => {
      if (answer.subarray(0, 12).equals(okLine)) send()
      else if (answer.toString().startsWith('HTTP')) reject(new Error(answer.toString()))
    })
    send()
  })

const sendOver = async (fixture: PartitionFixture, requests: readonly Buffer[]): Promise<void> => {
  const { hostname, port } = new URL(fixture.sandbox.base_url)
  const next = requests.values()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      await sendAll(socket, next)
      socket.removeAllListeners('close').destroy()
    }),
  )
}

/** Return the least bytes of several rounds of work: the first rounds compile code. */
const leastBytes = async (prepare: () => () => Promise<void>): Promise<number> => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round += 1) least = Math.min(least, await allocatedBytes(prepare()))
  return least
}

describe('the first thread', () => {
  it('allocates at most 75 kB for a submission of one record, and 1.75 kB for a record from HTTP to its row', {
    timeout: 240_000,
  }, async () => {
    await using fixture = await openPartitionFixture()
    const fleet = await createFleet(fixture.client, 20, recordsOfLarge)
    const token = await tokenOf(fixture.sandbox, fixture.sandbox.test_key)
    // No worker runs: the requests alone.
    const request = await leastBytes(() => {
      const requests = requestsOf(fixture, token, fleet, 1, singleSubmissions)
      return () => sendOver(fixture, requests)
    })
    await fixture.start()
    await fixture.waitUntilRead()
    const records = await leastBytes(() => {
      const requests = requestsOf(fixture, token, fleet, recordsOfLarge, largeSubmissions)
      return async () => {
        await sendOver(fixture, requests)
        await fixture.waitUntilRead()
      }
    })
    // Measured: 68 kB and 1.48 to 1.61 kB. The bounds are a tenth above. Lower them after a gain.
    expect(request / singleSubmissions).toBeLessThan(75_000)
    expect(records / (largeSubmissions * recordsOfLarge)).toBeLessThan(1_750)
  })
})
