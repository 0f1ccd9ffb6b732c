/**
 * An object with a long list. `write` returns the object with the elements [from, to) of the list.
 * The result always has all other members.
 * `translate` renames its members for the API version.
 */
export type LongObject<Member extends string> = {
  readonly member: Member
  readonly count: number
  /** Max elements of a part. */
  readonly maxPerStep?: number
  readonly write: (from: number, to: number) => { readonly [_ in Member]: readonly unknown[] }
  readonly translate: (whole: unknown) => unknown
}

/** Default max elements of a part. */
const maxElementsPerStep = 1_024
/** Characters of a part, except its last element. */
const charactersPerStep = 65_536
/** Placeholder of the elements in the list. The API accepts no text with NUL. */
const marker = '\u0000'
const markerText = JSON.stringify(marker)

/**
 * Write the JSON of an object in parts. A part is written when it is read.
 * The joined parts equal `JSON.stringify` of the whole object.
 */
export function* objectTexts<Member extends string>(of: LongObject<Member>): Generator<string> {
  const { member, count, maxPerStep = maxElementsPerStep, write, translate } = of
  const whole = JSON.stringify(translate({ ...write(0, 0), [member]: [marker] }))
  const markerIndex = whole.indexOf(markerText)
  if (markerIndex === -1) throw new Error(`The object has no member ${member}`)
  yield whole.slice(0, markerIndex)
  let size = 1
  let text = ''
  for (let from = 0; from < count; ) {
    const to = Math.min(from + size, count)
    const part = translate(write(from, to)) as { readonly [_ in Member]: readonly unknown[] }
    let length = 0
    for (const [index, element] of part[member].entries()) {
      if (from + index > 0) text += ','
      const written = JSON.stringify(element)
      length += written.length
      text += written
      if (text.length < charactersPerStep) continue
      yield text
      text = ''
    }
    if (text !== '') yield text
    text = ''
    size = Math.max(
      1,
      Math.min(maxPerStep, 4 * size, Math.floor((charactersPerStep * (to - from)) / Math.max(1, length))),
    )
    from = to
  }
  yield whole.slice(markerIndex + markerText.length)
}
