/** Colour in sRGB: red, green and blue, each 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number]

const white: Color = [255, 255, 255]
const black: Color = [0, 0, 0]

/** Backgrounds of the Connect pages, as in their style sheet `connect.css`. */
const lightGround: Color = [0xf3, 0xf6, 0xf4]
const darkGround: Color = [0x14, 0x1d, 0x19]

/** Min contrast of text. Source: https://www.w3.org/TR/WCAG22/#contrast-minimum. */
export const minContrast = 4.5

/** Read a colour such as `#0a5c3e`. Null for other texts. */
export const readColor = (text: string): Color | null => {
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text) ?? []
  if (red === undefined || green === undefined || blue === undefined) return null
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)]
}

/** Write a colour in lower case, such as `#0a5c3e`. */
export const writeColor = (color: Color): string =>
  `#${color.map(channel => channel.toString(16).padStart(2, '0')).join('')}`

const linear = (channel: number): number =>
  channel <= 10 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4

const luminance = ([red, green, blue]: Color): number =>
  0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)

/**
 * Return the contrast of two colours, from 1 (equal) to 21 (black and white). The order of the colours does not matter.
 * Source: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio.
 */
export const contrastOf = (one: Color, other: Color): number => {
  const [darker, lighter] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

const mixed = (color: Color, target: Color, percent: number): Color => {
  const channel = (index: 0 | 1 | 2): number =>
    Math.round((color[index] * (100 - percent) + target[index] * percent) / 100)
  return [channel(0), channel(1), channel(2)]
}

/** Return the nearest shade towards `target` with enough contrast to `ground`, in steps of 1 percent. */
const shadeFor = (color: Color, ground: Color, target: Color): Color => {
  for (let percent = 0; percent < 100; percent += 1) {
    const shade = mixed(color, target, percent)
    if (contrastOf(shade, ground) >= minContrast) return shade
  }
  return target
}

/** Return the contrast of a colour to the light background of the Connect pages. */
export const contrastOnPage = (color: Color): number => contrastOf(color, lightGround)

/** Return the nearest shade with enough contrast on a light page: the colour itself, or a darker one. */
export const shadeOnLight = (color: Color): Color => shadeFor(color, lightGround, black)

/** Return the nearest shade with enough contrast on a dark page: the colour itself, or a lighter one. */
export const shadeOnDark = (color: Color): Color => shadeFor(color, darkGround, white)
