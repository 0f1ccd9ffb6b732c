import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { create } from '../fixtures.ts'
import type { HostileInput, Play } from '../input.ts'
import type { Target } from '../target.ts'

const subject = 'webhooks'
const mebibyte = 2 ** 20

/** Behaviour of a subscriber: it does not answer, sends an endless answer, or fails immediately. */
type EndpointBehaviour = 'hangs' | 'is endless' | 'fails'

/** Run a subscriber in this process until the process exits. Returns its address. */
const openSubscriber = (behaviour: EndpointBehaviour): Promise<string> =>
  new Promise(resolve => {
    const server = createServer((_, response) => {
      if (behaviour === 'hangs') return
      if (behaviour === 'fails') {
        response.writeHead(500).end()
        return
      }
      response.writeHead(200)
      const bytes = Buffer.alloc(mebibyte, 'x')
      const fill = (): void => {
        while (!response.destroyed && response.write(bytes));
      }
      response.on('drain', fill)
      fill()
    })
    server.listen(0, '127.0.0.1', () => {
      server.unref()
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    })
  })

const endpointsAtOnce = 20

/** Return a play that creates endpoints for all events, causes events, and deletes the endpoints. */
const openEvents = async (
  { hostileTest: hostile }: Target,
  count: number,
  behaviour: EndpointBehaviour,
): Promise<Play> => {
  const url = await openSubscriber(behaviour)
  return async () => {
    const endpoints: string[] = []
    for (let at = 0; at < endpointsAtOnce; at += 1) {
      endpoints.push(await create(hostile, '/webhooks', { url, event_types: ['*'] }))
    }
    for (let at = 0; at < count; at += 1) await create(hostile, '/customers', {})
    await sleep(2_000)
    for (const endpoint of endpoints) await hostile.send('DELETE', `/webhooks/${endpoint}`)
    return [200]
  }
}

const eventsInput = (name: string, behaviour: EndpointBehaviour): HostileInput => ({
  subject,
  name,
  size: 200,
  unit: `events of ${endpointsAtOnce} endpoints`,
  growsTo: null,
  statuses: [200],
  isOnce: true,
  endsWithinS: 60,
  open: (target, size) => openEvents(target, size, behaviour),
})

/** Deliveries to subscribers that misbehave, and repeated events. */
export const webhooks: readonly HostileInput[] = [
  eventsInput('subscribers that hang', 'hangs'),
  eventsInput('subscribers whose answer does not end', 'is endless'),
  eventsInput('subscribers that fail', 'fails'),
  {
    subject,
    name: 'a resend of all events',
    size: 500,
    unit: 'events',
    growsTo: null,
    statuses: [202],
    isOnce: true,
    endsWithinS: 60,
    open: async ({ hostileTest: hostile }, size) => {
      for (let at = 0; at < size; at += 1) await create(hostile, '/customers', {})
      const url = await openSubscriber('fails')
      const endpoint = await create(hostile, '/webhooks', { url, event_types: ['*'] })
      const now = Date.now()
      const interval = {
        start_time: new Date(now - 3_600_000).toISOString(),
        end_time: new Date(now).toISOString(),
        include_delivered: true,
      }
      return async () => {
        const { status } = await hostile.send('POST', `/webhooks/${endpoint}/resends`, interval)
        await sleep(3_000)
        await hostile.send('DELETE', `/webhooks/${endpoint}`)
        return [status]
      }
    },
  },
]
