/** Opens both ends of a copy: stores by their addresses, backups by their files. */
export { openSource, openTarget } from "../../store/open_dump.ts";
export { openBackupSource, openBackupTarget } from "./backup_file.ts";
export type { StoreSource, StoreTarget } from "../../store/dump.ts";
