import { distance } from 'fastest-levenshtein'

/** Part of a request with named values. */
export type RequestPart = 'body' | 'query'

/** Code of an unknown name in each part of a request. */
export const unknownNameCodes = { body: 'unknown_field', query: 'unknown_parameter' } as const

/** Names of one member in other objects and in the other API version. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  direction: ['tariff_direction', 'energy_flow_direction'],
  tariff_rate: ['tariff_direction', 'direction'],
  tariff_direction: ['direction'],
}

/**
 * Find the known name that is most similar to an unknown one. Undefined if more than a third of the letters differ.
 * Upper case and lower case are equal; `-` and `_` are equal. A synonym is the most similar name.
 */
export const nearestName = (unknown: string, known: readonly string[]): string | undefined => {
  const normalized = unknown.slice(0, 64).toLowerCase().replaceAll('-', '_')
  const synonym = Object.hasOwn(synonyms, normalized)
    ? synonyms[normalized]?.find(name => known.includes(name))
    : undefined
  if (synonym !== undefined) return synonym
  let best: { name: string; changes: number } | undefined
  for (const name of known) {
    const changes = Math.min(
      distance(normalized, name),
      distance(normalized.replaceAll('_', ''), name.replaceAll('_', '')),
    )
    if (changes <= Math.max(1, Math.floor(name.length / 3)) && (best === undefined || changes < best.changes))
      best = { name, changes }
  }
  return best?.name
}

const maxQuoteLength = 60

/** Shorten a text of a caller for a message: whole characters, at most 60 code units, control characters as escapes. */
export const printable = (text: string): string => {
  const cut = text.length > maxQuoteLength ? `${text.slice(0, maxQuoteLength).replace(/[\ud800-\udbff]$/, '')}…` : text
  return cut
    .toWellFormed()
    .replace(
      /[\p{Cc}\p{Zl}\p{Zp}]/gu,
      character => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
    )
}

/** Quote a text of a caller. */
export const quote = (text: string): string => `"${printable(text)}"`

/** Message for an unknown name, with the nearest known name. */
export const unknownNameMessage = (name: string, nearest: string | undefined): string =>
  nearest === undefined
    ? `${quote(name)} is not known here; leave it out`
    : `${quote(name)} is not known here; did you mean ${nearest}?`

const knownNamesPrefix = '\0known '

/**
 * Issue message of an object shape for unknown members: the known names. `unknownMemberMessage` replaces this message
 * in the one refusal that the caller receives, because a body can have thousands of unknown members.
 */
export const knownNamesMessage = (names: readonly string[]): string => `${knownNamesPrefix}${names.join(' ')}`

/** Message for an unknown member, from the issue message of its shape. */
export const unknownMemberMessage = (name: string, shapeMessage: string): string =>
  shapeMessage.startsWith(knownNamesPrefix)
    ? unknownNameMessage(name, nearestName(name, shapeMessage.slice(knownNamesPrefix.length).split(' ')))
    : shapeMessage

/** Write a number with thousands separators, such as "10,000". `Intl` would load its language tables first. */
export const formatThousands = (value: number): string => {
  let written = String(value)
  for (let at = written.length - 3; at > 0; at -= 3) written = `${written.slice(0, at)},${written.slice(at)}`
  return written
}
