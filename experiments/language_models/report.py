def write_report(folder, results):
    pass
