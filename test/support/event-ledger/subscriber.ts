import { Webhook } from 'standardwebhooks'
import { openReceiver, type Reply } from '../webhooks/receiver.ts'

/** First reply to an event: 503 for 1 of 16 ids, a broken connection for 1 of 64, no answer for 1 of 512. */
const firstReply = (id: string): Reply => {
  const tail = Number.parseInt(id.slice(-3), 16)
  if (tail % 512 === 5) return 'hang'
  if (tail % 64 === 9) return 'reset'
  return { status: tail % 16 === 0 ? 503 : 204 }
}

/** Open a subscriber that verifies the signature of each event and refuses the first delivery of some events. */
export const openSubscriber = async () => {
  const received: { readonly id: string; readonly body: string }[] = []
  const unverified: string[] = []
  const ids = new Set<string>()
  let verifier: Webhook | null = null
  const receiver = await openReceiver(({ headers, body }) => {
    const id = String(headers['webhook-id'])
    received.push({ id, body })
    try {
      verifier?.verify(body, headers as Record<string, string>)
    } catch {
      unverified.push(id)
    }
    const isFirst = !ids.has(id)
    ids.add(id)
    return isFirst ? firstReply(id) : { status: 204 }
  })
  return {
    url: receiver.url,
    received,
    /** Ids of the deliveries whose signature the public library refused. */
    unverified,
    /** Number of received ids. */
    ids: () => ids.size,
    verifyWith: (secret: string): void => {
      verifier = new Webhook(secret)
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}
