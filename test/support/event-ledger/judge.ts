import type { Client } from '../client.ts'
import { type Life, labelOf, type Told } from './lives.ts'

/** Read a whole list, newest first. */
export const listAll = async <T extends { readonly id: string }>(client: Client, path: string): Promise<readonly T[]> => {
  const all: T[] = []
  for (let after = ''; ; after = `&starting_after=${all.at(-1)?.id}`) {
    const page = (await client.ask('GET', `${path}${path.includes('?') ? '&' : '?'}limit=100${after}`)) as { has_more: boolean; data: T[] }
    all.push(...page.data)
    if (!page.has_more) return all
  }
}

const repeated = (labels: readonly string[]): readonly string[] =>
  [...Map.groupBy(labels, label => label)].filter(([, group]) => group.length > 1).map(([label]) => label)

/** Tell where the certain deeds of a life do not stand in the events of its object in their order. */
const isOutOfOrder = ({ deeds }: Life, events: readonly string[]): boolean => {
  const places = deeds.filter(({ isCertain }) => isCertain).map(({ label }) => events.indexOf(label))
  return places.some((place, index) => place !== -1 && place < (places[index - 1] ?? -1))
}

/** What does not agree between the books and the events, the oldest first; all lists are empty where each event is a change. */
export const judgeEvents = (lives: readonly Life[], events: readonly Told[]) => {
  const labels = events.map(labelOf)
  const told = new Set(labels)
  const deeds = lives.flatMap(life => life.deeds)
  const known = new Set(deeds.map(({ label }) => label))
  return {
    missing: deeds.filter(({ label, isCertain }) => isCertain && !told.has(label)).map(({ label }) => label),
    invented: labels.filter(label => !known.has(label)),
    doubled: repeated(labels),
    disordered: lives.filter(life => isOutOfOrder(life, labels)).map(({ id }) => id),
  }
}

/** What does not agree between events and what was received under their ids. */
export const judgeReceived = (
  events: readonly Told[],
  received: readonly { readonly id: string; readonly body: string }[],
): { readonly missing: readonly string[]; readonly invented: readonly string[]; readonly altered: readonly string[] } => {
  const texts = new Map(events.map(event => [event.id, JSON.stringify(event)]))
  const ids = new Set(received.map(({ id }) => id))
  return {
    missing: [...texts.keys()].filter(id => !ids.has(id)),
    invented: [...ids].filter(id => !texts.has(id)),
    altered: received.filter(({ id, body }) => texts.has(id) && body !== texts.get(id)).map(({ id }) => id),
  }
}
