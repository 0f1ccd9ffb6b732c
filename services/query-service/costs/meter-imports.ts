import { importsToWire, meterImportList } from '../../contract/metering/meter-import.ts'
import { dayMs } from '../../domain/interval.ts'
import { accepted } from '../../domain/refusal.ts'
import { listImports } from '../../platform/clickhouse/readings/import-batches.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { undoneImports } from '../../platform/postgres/registry/import-undos.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from '../dependencies.ts'

/** Bind the list of imports. Source: docs/rules/imports.md #undo. */
export const meterImportOperations = ({ clickHouse, database }: CostDependencies): readonly Binding[] => [
  bind(meterImportList, async request => {
    const tenant = tenantOf(request)
    const { limit } = request.query
    const imports = await listImports(clickHouse, tenant, request.at - dayMs, limit + 1)
    const undone = await withTenant(database, tenant, transaction => undoneImports(transaction, request.at))
    const listed = imports.slice(0, limit).map(one => ({ ...one, undoneAt: undone.get(one.id) ?? null }))
    return accepted(importsToWire(listed, imports.length > limit))
  }),
]
