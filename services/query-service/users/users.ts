import { refuseFixedChange } from '../../contract/fixed-member.ts'
import {
  linkPath,
  userCreate,
  userDelete,
  userLinkCreate,
  userList,
  userPasswordDelete,
  userProviderLoginDelete,
  userRetrieve,
  userToWire,
  userUpdate,
} from '../../contract/users/user.ts'
import { writeInstant } from '../../domain/instant.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted } from '../../domain/refusal.ts'
import type { Credential, User } from '../../domain/user/user.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { createUserLink } from '../../platform/postgres/users/user-links.ts'
import {
  createUser,
  listUsers,
  removeCredential,
  removeUser,
  retrieveUser,
  updateUserRole,
} from '../../platform/postgres/users/users.ts'
import { type Change, change } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'

const noUser = noObject('user')

/** Describe a change of a user. The audit entry contains the user without secrets. */
const auditedChange = <T>(action: string, user: User, value: T): Change<T> => ({
  value,
  events: [],
  audit: [{ action: `user.${action}`, objectId: user.id, detail: userToWire(user) }],
})

/** Create a link and write the user with the link. */
const withLink = async (
  { secret, publicUrl }: Pick<QueryServiceDependencies, 'secret' | 'publicUrl'>,
  transaction: TenantTransaction,
  user: User,
  at: number,
) => {
  const { token, purpose, expiresAt } = await createUserLink(transaction, user, secret, at)
  const link = publicUrl + linkPath(purpose, token)
  return { ...userToWire(user), link, link_expires: writeInstant(expiresAt) }
}

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(userUpdate, request =>
    change(dependencies, userUpdate, request, async transaction => {
      const before = await retrieveUser(transaction, request.id)
      if (before === null) return noUser
      const fixedFieldRefusal = refuseFixedChange(request.body, userToWire(before), ['role'])
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const updated = await updateUserRole(transaction, request.id, request.body.role ?? before.role)
      return updated.ok ? accepted(auditedChange('update', updated.value, userToWire(updated.value))) : updated
    }),
  )

const removalBinding = (
  dependencies: QueryServiceDependencies,
  operation: typeof userPasswordDelete | typeof userProviderLoginDelete,
  credential: Credential,
): Binding =>
  bind(operation, request =>
    change(dependencies, operation, request, async transaction => {
      const removed = await removeCredential(transaction, request.id, credential)
      if (!removed.ok) return removed
      const { user, wasRemoved } = removed.value
      const removal = auditedChange(`delete_${credential}`, user, { message: 'Accepted' as const })
      return accepted(wasRemoved ? removal : { ...removal, audit: [] })
    }),
  )

/**
 * Bind the operations on users of the console.
 * Source: docs/rules/users.md #operations.
 */
export const userOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(userCreate, request =>
    change(dependencies, userCreate, request, async transaction => {
      const created = await createUser(transaction, request.body, request.at)
      if (!created.ok) return created
      const answer = await withLink(dependencies, transaction, created.value, request.at)
      return accepted(auditedChange('create', created.value, answer))
    }),
  ),
  bind(userList, request => answerList(dependencies, request, '/users', listUsers, users => users.map(userToWire))),
  bind(userRetrieve, request => answerOne(dependencies, request, retrieveUser, noUser, userToWire)),
  updateBinding(dependencies),
  bind(userDelete, request =>
    change(dependencies, userDelete, request, async transaction => {
      const removed = await removeUser(transaction, request.id, request.at)
      return removed.ok ? accepted(auditedChange('delete', removed.value, { message: 'Accepted' as const })) : removed
    }),
  ),
  bind(userLinkCreate, request =>
    change(dependencies, userLinkCreate, request, async transaction => {
      const user = await retrieveUser(transaction, request.id)
      if (user === null) return noUser
      const answer = await withLink(dependencies, transaction, user, request.at)
      return accepted(auditedChange('create_link', user, answer))
    }),
  ),
  removalBinding(dependencies, userPasswordDelete, 'password'),
  removalBinding(dependencies, userProviderLoginDelete, 'provider_login'),
]
