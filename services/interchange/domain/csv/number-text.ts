/** Marks of numbers in a file: the decimal mark, and the mark between thousands (empty: none). */
export type NumberMarks = { readonly decimal: '.' | ','; readonly thousands: string }

/** Marks that separate thousands as a space does: a no-break space, and a narrow one. */
const spaceMarks = /[\u00A0\u202F]/g

const plainNumber = /^(?:0|[1-9]\d*)(?:\.\d+)?$/
const anyNumber = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/

const escaped = (mark: string): string => mark.replace(/[.\s'’,]/g, '\\$&')

/** Join groups of three digits before the decimal mark; undefined if a group has another length. */
const withoutThousands = (text: string, { decimal, thousands }: NumberMarks): string | undefined => {
  const [whole = '', ...rest] = text.split(decimal)
  if (rest.some(part => part.includes(thousands))) return undefined
  if (!whole.includes(thousands)) return text
  const groups = new RegExp(`^[+-]?\\d{1,3}(?:${escaped(thousands)}\\d{3})+$`)
  return groups.test(whole) ? [whole.replaceAll(thousands, ''), ...rest].join(decimal) : undefined
}

/**
 * Return a number of a file as the text of a JSON number with the same digits; undefined if the text is no number.
 * Thousands must be in groups of three digits, so that `1,5` never becomes 15.
 */
export const numberTextOf = (cell: string, marks: NumberMarks): string | undefined => {
  if (marks.decimal === '.' && plainNumber.test(cell)) return cell
  const text = marks.thousands === ' ' ? cell.trim().replace(spaceMarks, ' ') : cell.trim()
  const joined = marks.thousands === '' ? text : withoutThousands(text, marks)
  if (joined === undefined || (marks.decimal === ',' && joined.includes('.'))) return undefined
  const [, sign, whole = '', fraction = '', exponent] =
    anyNumber.exec(marks.decimal === ',' ? joined.replace(',', '.') : joined) ?? []
  if (sign === undefined || (whole === '' && fraction === '')) return undefined
  const digits = whole.replace(/^0+(?=\d)/, '') || '0'
  return `${sign === '-' ? '-' : ''}${digits}${fraction === '' ? '' : `.${fraction}`}${exponent === undefined ? '' : `e${exponent}`}`
}

const decimalParts = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/

/** Return the exact sum of numbers in the form of `numberTextOf`, in the same form without exponent. */
export const sumNumberTexts = (numbers: readonly string[]): string => {
  const terms = numbers.map(text => {
    const [, sign = '', whole = '0', fraction = '', exponent = '0'] = decimalParts.exec(text) ?? []
    return { digits: BigInt(`${sign}${whole}${fraction}`), scale: fraction.length - Number(exponent) }
  })
  const scale = Math.max(0, ...terms.map(term => term.scale))
  const sum = terms.reduce((total, term) => total + term.digits * 10n ** BigInt(scale - term.scale), 0n)
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0')
  const [whole, fraction] = [digits.slice(0, digits.length - scale), digits.slice(digits.length - scale)]
  return `${sum < 0n ? '-' : ''}${whole}${scale === 0 ? '' : `.${fraction}`}`
}
