import type { Client } from '../system/client.ts'
import { labelOf, type ObjectHistory, type ReceivedEvent } from './object-histories.ts'

/** Read all pages of a list, newest first. */
export const listAll = async <T extends { readonly id: string }>(
  client: Client,
  path: string,
): Promise<readonly T[]> => {
  const all: T[] = []
  for (let after = ''; ; after = `&starting_after=${all.at(-1)?.id}`) {
    const page = (await client.ask('GET', `${path}${path.includes('?') ? '&' : '?'}limit=100${after}`)) as {
      has_more: boolean
      data: T[]
    }
    all.push(...page.data)
    if (!page.has_more) return all
  }
}

const repeated = (labels: readonly string[]): readonly string[] =>
  [...Map.groupBy(labels, label => label)].filter(([, group]) => group.length > 1).map(([label]) => label)

/** Return true if the events of an object have another order than the certain operations. */
const isOutOfOrder = ({ operations }: ObjectHistory, events: readonly string[]): boolean => {
  const positions = operations.filter(({ isCertain }) => isCertain).map(({ label }) => events.indexOf(label))
  return positions.some((position, index) => position !== -1 && position < (positions[index - 1] ?? -1))
}

/**
 * List the differences between the histories and the events, oldest first.
 * All lists are empty if each event is a change.
 */
export const verifyEvents = (histories: readonly ObjectHistory[], events: readonly ReceivedEvent[]) => {
  const labels = events.map(labelOf)
  const receivedLabels = new Set(labels)
  const operations = histories.flatMap(history => history.operations)
  const known = new Set(operations.map(({ label }) => label))
  return {
    missing: operations
      .filter(({ label, isCertain }) => isCertain && !receivedLabels.has(label))
      .map(({ label }) => label),
    unexpected: labels.filter(label => !known.has(label)),
    duplicated: repeated(labels),
    disordered: histories.filter(history => isOutOfOrder(history, labels)).map(({ id }) => id),
  }
}

/** List the differences between the events and the received bodies with their ids. */
export const verifyReceived = (
  events: readonly ReceivedEvent[],
  received: readonly { readonly id: string; readonly body: string }[],
): {
  readonly missing: readonly string[]
  readonly unexpected: readonly string[]
  readonly altered: readonly string[]
} => {
  const texts = new Map(events.map(event => [event.id, JSON.stringify(event)]))
  const ids = new Set(received.map(({ id }) => id))
  return {
    missing: [...texts.keys()].filter(id => !ids.has(id)),
    unexpected: [...ids].filter(id => !texts.has(id)),
    altered: received.filter(({ id, body }) => texts.has(id) && body !== texts.get(id)).map(({ id }) => id),
  }
}
