//! Compactions in other processes, which the engine has not: the functions are there to be linked,
//! and refuse by their own names.

use super::refused::{refuse, refused};
use crate::border::exports;
use crate::border::{Bytes, ErrPtr, Out, Text};
use crate::callbacks::{
    Destructor, State, rocksdb_compactionfilter_t, rocksdb_compactionfilterfactory_t,
    rocksdb_comparator_t, rocksdb_mergeoperator_t, rocksdb_slicetransform_t,
};
use crate::listeners::rocksdb_eventlistener_t;
use crate::options::{
    rocksdb_block_based_table_options_t, rocksdb_cuckoo_table_options_t, rocksdb_env_t,
    rocksdb_file_checksum_gen_factory_t, rocksdb_logger_t, rocksdb_options_t,
    rocksdb_sst_partitioner_factory_t, rocksdb_table_properties_collector_factory_t,
};
use libc::{c_char, c_int};
use whitewater::Error;

pub struct rocksdb_compactionservice_t(());
pub struct rocksdb_compactionservice_jobinfo_t(());
pub struct rocksdb_compactionservice_scheduleresponse_t(());
pub struct rocksdb_compaction_service_options_override_t(());
pub struct rocksdb_open_and_compact_options_t(());

type Schedule = Option<
    extern "C" fn(
        State,
        &rocksdb_compactionservice_jobinfo_t,
        Text,
        usize,
    ) -> Option<Box<rocksdb_compactionservice_scheduleresponse_t>>,
>;
type Wait = Option<extern "C" fn(State, Text, Out<*mut c_char>, Out<usize>) -> c_int>;
type Cancel = Option<extern "C" fn(State)>;
type OnInstallation = Option<extern "C" fn(State, Text, c_int)>;

type Info<'a> = Option<&'a rocksdb_compactionservice_jobinfo_t>;
type Response<'a> = Option<&'a rocksdb_compactionservice_scheduleresponse_t>;
type Override<'a> = Option<&'a rocksdb_compaction_service_options_override_t>;
type CompactOptions<'a> = Option<&'a rocksdb_open_and_compact_options_t>;

refused! {
    rocksdb_compactionservice_create(
        _state: State, _destructor: Destructor, _schedule: Schedule, _name: Text, _wait: Wait,
        _cancel: Cancel, _on_installation: OnInstallation
    ) -> Option<Box<rocksdb_compactionservice_t>>;
    rocksdb_compactionservice_jobinfo_t_get_base_input_level(_info: Info<'_>) -> i32;
    rocksdb_compactionservice_jobinfo_t_get_cf_id(_info: Info<'_>) -> u32;
    rocksdb_compactionservice_jobinfo_t_get_cf_name(
        _info: Info<'_>, _len: Out<usize>
    ) -> *const c_char;
    rocksdb_compactionservice_jobinfo_t_get_compaction_reason(_info: Info<'_>) -> i32;
    rocksdb_compactionservice_jobinfo_t_get_db_id(
        _info: Info<'_>, _len: Out<usize>
    ) -> *const c_char;
    rocksdb_compactionservice_jobinfo_t_get_db_name(
        _info: Info<'_>, _len: Out<usize>
    ) -> *const c_char;
    rocksdb_compactionservice_jobinfo_t_get_db_session_id(
        _info: Info<'_>, _len: Out<usize>
    ) -> *const c_char;
    rocksdb_compactionservice_jobinfo_t_get_job_id(_info: Info<'_>) -> u64;
    rocksdb_compactionservice_jobinfo_t_get_output_level(_info: Info<'_>) -> i32;
    rocksdb_compactionservice_jobinfo_t_get_priority(_info: Info<'_>) -> i32;
    rocksdb_compactionservice_jobinfo_t_is_bottommost_level(_info: Info<'_>) -> u8;
    rocksdb_compactionservice_jobinfo_t_is_full_compaction(_info: Info<'_>) -> u8;
    rocksdb_compactionservice_jobinfo_t_is_manual_compaction(_info: Info<'_>) -> u8;
    rocksdb_compactionservice_scheduleresponse_get_scheduled_job_id(
        _response: Response<'_>, _len: Out<usize>
    ) -> *const c_char;
    rocksdb_compactionservice_scheduleresponse_getstatus(_response: Response<'_>) -> i32;
    rocksdb_compactionservice_scheduleresponse_t_destroy(
        _response: Option<Box<rocksdb_compactionservice_scheduleresponse_t>>
    );
    rocksdb_compaction_service_options_override_create(
    ) -> Option<Box<rocksdb_compaction_service_options_override_t>>;
    rocksdb_compaction_service_options_override_create_from_options(
        _options: Option<&rocksdb_options_t>
    ) -> Option<Box<rocksdb_compaction_service_options_override_t>>;
    rocksdb_compaction_service_options_override_destroy(
        _options: Option<Box<rocksdb_compaction_service_options_override_t>>
    );
    rocksdb_compaction_service_options_override_add_event_listener(
        _options: Override<'_>, _listener: Option<&rocksdb_eventlistener_t>
    );
    rocksdb_compaction_service_options_override_add_table_properties_collector_factory(
        _options: Override<'_>, _factory: Option<&rocksdb_table_properties_collector_factory_t>
    );
    rocksdb_compaction_service_options_override_set_block_based_table_factory(
        _options: Override<'_>, _table: Option<&rocksdb_block_based_table_options_t>
    );
    rocksdb_compaction_service_options_override_set_compaction_filter(
        _options: Override<'_>, _filter: Option<&rocksdb_compactionfilter_t>
    );
    rocksdb_compaction_service_options_override_set_compaction_filter_factory(
        _options: Override<'_>, _factory: Option<&rocksdb_compactionfilterfactory_t>
    );
    rocksdb_compaction_service_options_override_set_comparator(
        _options: Override<'_>, _comparator: Option<&rocksdb_comparator_t>
    );
    rocksdb_compaction_service_options_override_set_cuckoo_table_factory(
        _options: Override<'_>, _table: Option<&rocksdb_cuckoo_table_options_t>
    );
    rocksdb_compaction_service_options_override_set_env(
        _options: Override<'_>, _env: Option<&rocksdb_env_t>
    );
    rocksdb_compaction_service_options_override_set_file_checksum_gen_factory(
        _options: Override<'_>, _factory: Option<&rocksdb_file_checksum_gen_factory_t>
    );
    rocksdb_compaction_service_options_override_set_info_log(
        _options: Override<'_>, _logger: Option<&rocksdb_logger_t>
    );
    rocksdb_compaction_service_options_override_set_merge_operator(
        _options: Override<'_>, _operator: Option<&rocksdb_mergeoperator_t>
    );
    rocksdb_compaction_service_options_override_set_option(
        _options: Override<'_>, _key: Text, _value: Text
    );
    rocksdb_compaction_service_options_override_set_prefix_extractor(
        _options: Override<'_>, _transform: Option<&rocksdb_slicetransform_t>
    );
    rocksdb_compaction_service_options_override_set_sst_partitioner_factory(
        _options: Override<'_>, _factory: Option<&rocksdb_sst_partitioner_factory_t>
    );
    rocksdb_compaction_service_options_override_set_statistics(
        _options: Override<'_>, _from: Option<&rocksdb_options_t>
    );
    rocksdb_open_and_compact_canceled_create() -> *mut u8;
    rocksdb_open_and_compact_canceled_destroy(_canceled: Out<u8>);
    rocksdb_open_and_compact_canceled_set(_canceled: Out<u8>, _value: u8);
    rocksdb_open_and_compact_options_create() -> Option<Box<rocksdb_open_and_compact_options_t>>;
    rocksdb_open_and_compact_options_destroy(
        _options: Option<Box<rocksdb_open_and_compact_options_t>>
    );
    rocksdb_open_and_compact_options_set_allow_resumption(
        _options: CompactOptions<'_>, _allow: u8
    );
    rocksdb_open_and_compact_options_set_canceled(
        _options: CompactOptions<'_>, _canceled: Out<u8>
    );
}

exports! {
    fn rocksdb_compactionservice_scheduleresponse_create(
        _id: Text, _status: i32, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_compactionservice_scheduleresponse_t>> {
        refuse("rocksdb_compactionservice_scheduleresponse_create", errptr)
    }
    fn rocksdb_compactionservice_scheduleresponse_create_with_status(
        _status: i32, errptr: ErrPtr,
    ) -> Option<Box<rocksdb_compactionservice_scheduleresponse_t>> {
        refuse("rocksdb_compactionservice_scheduleresponse_create_with_status", errptr)
    }
    fn rocksdb_open_and_compact(
        _db: Text, _output_dir: Text, _input: Bytes, _input_len: usize, output_len: Out<usize>,
        _options: Override<'_>, errptr: ErrPtr,
    ) -> *mut c_char {
        output_len.set(0);
        refuse("rocksdb_open_and_compact", errptr)
    }
    fn rocksdb_open_and_compact_with_options(
        _options: CompactOptions<'_>, _db: Text, _output_dir: Text, _input: Bytes,
        _input_len: usize, output_len: Out<usize>, _override: Override<'_>, errptr: ErrPtr,
    ) -> *mut c_char {
        output_len.set(0);
        refuse("rocksdb_open_and_compact_with_options", errptr)
    }
    fn rocksdb_options_set_compaction_service(
        options: Option<&mut rocksdb_options_t>, _service: Option<&rocksdb_compactionservice_t>,
    ) {
        if let Some(options) = options {
            let error = Error::not_supported("option compaction_service");
            options.options.refuse_by_name("compaction_service", error);
        }
    }
}
