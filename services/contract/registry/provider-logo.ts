/** Letters of a supplier without a logo: the first ones of its first two words, in capitals. */
const initialsOf = (name: string): string => {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const letters = words.slice(0, 2).flatMap(word => [...word].slice(0, 1))
  return letters.length === 0 ? '?' : letters.join('').toLocaleUpperCase('en')
}

/** One of a few quiet colours, always the same for a name. */
const colourOf = (name: string): string => {
  let sum = 0
  for (const letter of name) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 360
  return `hsl(${sum} 35% 38%)`
}

/**
 * Return the logo of a supplier, or a picture of its initials: clients show what they get as an image. A `data:` address of an SVG, which
 * needs no request. Source: docs/rules/connect.md #pages.
 */
export const logoUrlOf = ({
  displayName,
  logoUrl,
}: {
  readonly displayName: string
  readonly logoUrl: string | null
}): string => {
  if (logoUrl !== null) return logoUrl
  const svg = [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">',
    `<rect width="64" height="64" rx="12" fill="${colourOf(displayName)}"/>`,
    '<text x="32" y="33" dominant-baseline="central" text-anchor="middle" font-family="sans-serif" font-size="26" fill="#fff">',
    `${initialsOf(displayName)}</text></svg>`,
  ].join('')
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}
