/** A number as people write it, 10000 as "10,000", without the tables of languages that the engine's own formats load first. */
export const formatThousands = (value: number): string => {
  let written = String(value)
  for (let at = written.length - 3; at > 0; at -= 3) written = `${written.slice(0, at)},${written.slice(at)}`
  return written
}
