/**
 * Remove all copies of one character from the end of a text, in linear time. The pattern `x+$` needs quadratic time for
 * the same: it tries each run of `x` in the text.
 */
export const trimEnd = (text: string, character: string): string => {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}
