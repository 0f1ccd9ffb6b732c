import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { openCodec } from '../../services/platform/log/avro/codec.ts'
import { confluentSchemaIds } from '../../services/platform/log/avro/confluent-schema-ids.ts'
import { describeSchemaIds, readingSchema } from '../suites/describe-schema-ids.ts'
import { startLocalServer } from '../support/http/local-server.ts'
import { sharedRegistry, skippedWithout } from '../support/kafka/shared-broker.ts'

const idsOf = async () => {
  const address = { url: await sharedRegistry(), user: null, password: null }
  return () => confluentSchemaIds({ address, fetch })
}

describe.skipIf(skippedWithout('registry') !== null)('a real registry', { timeout: 60_000 }, () => {
  describeSchemaIds('schema numbers of a registry', async () => {
    const make = await idsOf()
    return { ids: make(), again: make }
  })

  it('refuses a schema that cannot read the messages of every earlier version', async () => {
    const ids = (await idsOf())()
    const subject = `subject-${randomUUID()}`
    const required = (name: string) =>
      JSON.stringify({ type: 'record', name: 'Reading', fields: [{ name, type: 'string' }] })
    await ids.register(subject, required('value'))
    await ids.register(subject, readingSchema(['value', 'unit']))
    await expect(ids.register(subject, required('other'))).rejects.toMatchObject({
      code: 'schema_refused',
      retriable: false,
    })
  })

  it('returns the same number to processes that register a schema concurrently', async () => {
    const make = await idsOf()
    const subject = `subject-${randomUUID()}`
    const given = await Promise.all(Array.from({ length: 8 }, () => make().register(subject, readingSchema(['value']))))
    expect(new Set(given).size).toBe(1)
  })

  it('makes bytes with an unknown number fail as not retriable', async () => {
    const codec = await openCodec((await idsOf())())
    const value = Buffer.concat([Buffer.alloc(5), Buffer.from('bytes')])
    value.writeUInt32BE(2_000_000_111, 1)
    await expect(codec.decodeDeadLetter(value)).rejects.toMatchObject({ code: 'schema_unknown', retriable: false })
  })
})

describe('an unavailable registry', () => {
  /** Create a registry that answers with `status` and counts its requests. */
  const answering = async (status: number, body: unknown) => {
    const requests: IncomingMessage[] = []
    const server = await startLocalServer((request, response) => {
      requests.push(request)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    return { ...server, requests }
  }

  it('gives a retriable failure, and is called again', async () => {
    await using registry = await answering(503, {})
    const ids = confluentSchemaIds({ address: { url: registry.url, user: null, password: null }, fetch })
    for (let time = 0; time < 2; time += 1)
      await expect(ids.schemaOf(7)).rejects.toMatchObject({ code: 'registry_away', retriable: true })
    expect(registry.requests.length).toBe(2)
  })

  it('gives a retriable failure if no server listens', async () => {
    const ids = confluentSchemaIds({ address: { url: 'http://127.0.0.1:9', user: null, password: null }, fetch })
    await expect(ids.register('subject', readingSchema(['value']))).rejects.toMatchObject({
      code: 'registry_away',
      retriable: true,
    })
  })

  it('is not needed for a cached number, and receives the credentials', async () => {
    await using registry = await answering(200, { schema: readingSchema(['value']) })
    const ids = confluentSchemaIds({ address: { url: registry.url, user: 'reader', password: 'secret' }, fetch })
    const [first, second] = await Promise.all([ids.schemaOf(7), ids.schemaOf(7)])
    expect([first, second, await ids.schemaOf(7)]).toEqual(Array(3).fill(readingSchema(['value'])))
    expect(registry.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/schemas/ids/7', `Basic ${Buffer.from('reader:secret').toString('base64')}`],
    ])
  })
})
