/** Marks of numbers in a file: the decimal mark, and the mark between thousands (empty: none). */
export type NumberMarks = { readonly decimal: '.' | ','; readonly thousands: string }

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
  const text = cell.trim()
  const joined = marks.thousands === '' ? text : withoutThousands(text, marks)
  if (joined === undefined || (marks.decimal === ',' && joined.includes('.'))) return undefined
  const [, sign, whole = '', fraction = '', exponent] =
    anyNumber.exec(marks.decimal === ',' ? joined.replace(',', '.') : joined) ?? []
  if (sign === undefined || (whole === '' && fraction === '')) return undefined
  const digits = whole.replace(/^0+(?=\d)/, '') || '0'
  return `${sign === '-' ? '-' : ''}${digits}${fraction === '' ? '' : `.${fraction}`}${exponent === undefined ? '' : `e${exponent}`}`
}
