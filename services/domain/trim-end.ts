/**
 * Cut every copy of one character off the end of a text, in time proportional to what is cut.
 * The pattern `x+$` does the same in quadratic time: the engine tries each run of `x` that the end does not follow.
 */
export const trimEnd = (text: string, character: string): string => {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}
