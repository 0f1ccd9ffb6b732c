import { globSync, readFileSync } from 'node:fs'
import sql, { raw } from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { recordTimers } from '../../../../services/background/record-timers.ts'
import { toTimestamp } from '../../../../services/platform/postgres/column.ts'
import { dueColumns, repairDueTimes } from '../../../../services/platform/postgres/due-times.ts'
import { withOperator } from '../../../../services/platform/postgres/transaction.ts'
import { leasedTurn } from '../../../support/partitions/leased-turn.ts'
import { useTestDatabase } from '../../../support/registry/use-database.ts'
import { timeColumns } from '../../../support/repository/stored-clocks.ts'

const root = new URL('../../../../', import.meta.url).pathname
const schema = globSync('schemas/postgres/*.sql', { cwd: root }).map(path => readFileSync(`${root}${path}`, 'utf8'))
const { database } = await useTestDatabase()
const at = Date.UTC(2026, 0, 5, 12)
const minuteMs = 60_000

describe('a time at which work is due', () => {
  it('is in the list of due columns, except the end of a contract', () => {
    const inSchema = [...timeColumns(schema)].flatMap(([table, columns]) =>
      [...columns].filter(name => /^(?:due|next|retry)_at$/.test(name)).map(name => `${table}.${name}`),
    )
    const listed = dueColumns.map(({ table, column }) => `${table}.${column}`)
    expect(inSchema.toSorted()).toEqual([...listed, 'contract_timers.due_at'].toSorted())
  })

  it.each(dueColumns)('$column of $table is now if it is later than its writers can delay it', async one => {
    const [table, column] = [raw(one.table), raw(one.column)]
    const latest = at + one.longestMs
    const times = [at - minuteMs, at + 1, latest, latest + minuteMs, latest + minuteMs + 1, at + 1_000 * 86_400_000]
    const after = await withOperator(database, async ({ query }) => {
      // A copy of the columns without constraints replaces the table.
      await query(
        sql`create temporary table ${table} on commit drop as select ${column} from public.${table} with no data`,
      )
      await query(sql`insert into ${table} select unnest(${times.map(toTimestamp)}::timestamptz[])`)
      const others = dueColumns.filter(({ table: name }) => name !== one.table)
      for (const { table: name, column: due } of others)
        await query(
          sql`create temporary table ${raw(name)} on commit drop as select ${raw(due)} from public.${raw(name)} with no data`,
        )
      expect(await repairDueTimes(query, at)).toBe(false)
      const { rows } = await query<{ due: number | null }>(sql`select ${column} as due from ${table} order by 1`)
      return rows.map(({ due }) => due)
    })
    expect(after).toEqual([at - minuteMs, at, at, at + 1, latest, latest + minuteMs].toSorted())
  })

  it('is corrected by work under a lease, page by page', async () => {
    await withOperator(database, async ({ query }) => {
      await query(sql`
        insert into erasures (account_id, live_mode, object_id, location_ids, device_ids, other_ids, asked_at, until, due_at)
        select 'acc_1', true, 'loc_' || n, '{}', '{}', '{}', now(), now(), ${toTimestamp(at + 400 * 86_400_000)}
        from generate_series(1, 5001) n`)
    })
    const work = recordTimers(database, () => at).find(({ name }) => name === 'due-times')
    expect([await work?.turn(leasedTurn), await work?.turn(leasedTurn)]).toEqual([true, false])
    const { rows } = await database.operator<{ due: number }>(sql`select distinct due_at as due from erasures`)
    expect(rows).toEqual([{ due: at }])
  })
})
