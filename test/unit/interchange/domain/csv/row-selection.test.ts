import { expect, it } from 'vitest'
import { leftOutText, rowSelection } from '../../../../../services/interchange/domain/csv/row-selection.ts'

const open = (...where: readonly (readonly [heading: string, text: string])[]) => {
  const selection = rowSelection(['type', 'flow'], { where: where.map(([heading, text]) => ({ heading, text })) })
  if ('problem' in selection) throw new Error(selection.problem)
  return selection
}

it('rows are left out by the first column with another text', () => {
  const { has, leftOut } = open(['type', 'Gas'], ['flow', 'in'])
  expect([has(['Gas', 'in']), has(['gas', 'out']), has([' Gas ', 'out']), has(['Gas'])]).toEqual([
    true,
    false,
    false,
    false,
  ])
  expect(leftOut().map(leftOutText)).toEqual([
    'Rows with another text of "type" are left out: gas.',
    'Rows with another text of "flow" are left out: out, (empty).',
  ])
})

it('keeps the beginnings of ten texts of a column', () => {
  const { has, leftOut } = open(['type', 'Gas'])
  for (let row = 0; row < 1_000; row += 1) has([`${'x'.repeat(39)}${row}`])
  const [left] = leftOut()
  expect(left?.texts.every(text => text.length === 40)).toBe(true)
  for (let row = 0; row < 1_000; row += 1) has([`y${row}`])
  const texts = leftOut()[0]?.texts ?? []
  expect(texts).toHaveLength(11)
  expect(leftOutText({ heading: 'h'.repeat(50), texts })).toMatch(/"h{40}" are left out: .*, …\.$/)
})
