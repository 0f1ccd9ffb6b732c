import { distance } from 'fastest-levenshtein'

/**
 * Find the known name that an unknown one most likely means: at most a third of its letters changed.
 * Undefined when none is near. Letter case and `-` for `_` count as no change.
 */
export const nearestName = (unknown: string, known: readonly string[]): string | undefined => {
  const normalized = unknown.slice(0, 64).toLowerCase().replaceAll('-', '_')
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

/** Show a name or text that a caller sent: whole characters, short enough for a message, control characters as escapes. */
export const printable = (text: string): string => {
  const cut = text.length > maxQuoteLength ? `${text.slice(0, maxQuoteLength).replace(/[\ud800-\udbff]$/, '')}…` : text
  return cut
    .toWellFormed()
    .replace(
      /[\p{Cc}\p{Zl}\p{Zp}]/gu,
      character => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
    )
}

/** Quote what a caller sent. */
export const quote = (text: string): string => `"${printable(text)}"`

/** Say that a name is not known, and which one may be meant. */
export const unknownNameMessage = (name: string, nearest: string | undefined): string =>
  nearest === undefined
    ? `${quote(name)} is not known here; leave it out`
    : `${quote(name)} is not known here; did you mean ${nearest}?`

const knownNamesPrefix = '\0known '

/**
 * What the shape of an object says of a member that it does not know: the names that it knows. The nearest of them is looked for in the
 * one message that a caller gets: a body can have thousands of unknown members.
 */
export const knownNamesMessage = (names: readonly string[]): string => `${knownNamesPrefix}${names.join(' ')}`

/** Make the message for an unknown member out of what its shape says. */
export const unknownMemberMessage = (name: string, shapeMessage: string): string =>
  shapeMessage.startsWith(knownNamesPrefix)
    ? unknownNameMessage(name, nearestName(name, shapeMessage.slice(knownNamesPrefix.length).split(' ')))
    : shapeMessage

/** A number as people write it, 10000 as "10,000", without the tables of languages that the engine's own formats load first. */
export const formatThousands = (value: number): string => {
  let written = String(value)
  for (let at = written.length - 3; at > 0; at -= 3) written = `${written.slice(0, at)},${written.slice(at)}`
  return written
}
