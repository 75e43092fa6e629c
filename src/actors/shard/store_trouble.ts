/** The store cannot be read now; what needed it may be tried again. */
export class StoreTrouble extends Error {
  constructor(cause: unknown) {
    super("The store cannot be read", { cause });
    this.name = "StoreTrouble";
  }
}
