import { Webhook } from 'standardwebhooks'
import { openReceiver, type Reply } from '../webhooks/receiver.ts'

/** What comes first of some ids: a refusal of one in 16, a broken connection of one in 64, no answer at all of one in 512. */
const firstReply = (id: string): Reply => {
  const tail = Number.parseInt(id.slice(-3), 16)
  if (tail % 512 === 5) return 'hang'
  if (tail % 64 === 9) return 'reset'
  return { status: tail % 16 === 0 ? 503 : 204 }
}

/** A subscriber that verifies what it gets as it comes, and does not take everything at once. */
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
    /** Ids of what the public verifier refused. */
    unverified,
    /** How many ids came. */
    ids: () => ids.size,
    trust: (secret: string): void => {
      verifier = new Webhook(secret)
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}
